import type { ProxiedCall, Ruling } from '../../test/support/nodeProxy.js'
import { sharedNowMs } from './sharedNow.js'

/** What an endpoint counts, and how many a second it allows. */
export type Allowance = { readonly counts: 'calls' | 'requests'; readonly perSecond: number }

export type Meter = {
  readonly rule: (calls: readonly ProxiedCall[]) => Ruling
  readonly seen: {
    /** Requests that came, and those of them that were refused. */
    readonly requests: number
    readonly denied: number
    /** Raw transactions in the others. */
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
 * As hosted endpoints meter: a bucket that holds what one second allows, and is full at the beginning. A request that
 * finds too little in it is refused with HTTP 429, takes nothing out, and is not told when to come again.
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
