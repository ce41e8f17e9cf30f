import type { ProxiedCall, Ruling } from '../../test/support/nodeProxy.js'
import { sharedNowMs } from './sharedNow.js'

/** The unit that an endpoint counts, and its limit per second. */
export type Allowance = { readonly counts: 'calls' | 'requests'; readonly perSecond: number }

export type Meter = {
  readonly rule: (calls: readonly ProxiedCall[]) => Ruling
  readonly seen: {
    /** Received requests, and refused ones among them. */
    readonly requests: number
    readonly denied: number
    /** Raw transactions in the accepted requests. */
    readonly sends: number
  }
}

const SEND = 'eth_sendRawTransaction'
const DENIED = {
  type: 'refuse',
  status: 429,
  text: JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_005, message: 'rate limit exceeded' },
  }),
} as const

/**
 * Rate limit of a typical hosted endpoint: a token bucket that holds the allowance of one second and starts
 * full. A request above its content is refused with HTTP 429 without `Retry-After`, and consumes nothing.
 */
export function createMeter({ counts, perSecond }: Allowance, now = sharedNowMs): Meter {
  const seen = { requests: 0, denied: 0, sends: 0 }
  let left = perSecond
  let atMs = now()
  return {
    seen,
    rule(calls) {
      const nowMs = now()
      left = Math.min(perSecond, left + ((nowMs - atMs) * perSecond) / 1_000)
      atMs = nowMs
      seen.requests++
      const asked = counts === 'calls' ? calls.length : 1
      if (asked > left) {
        seen.denied++
        return DENIED
      }
      left -= asked
      seen.sends += calls.filter(({ method }) => method === SEND).length
      return { type: 'pass' }
    },
  }
}
