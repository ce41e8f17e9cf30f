import { type Hex, keccak256 } from 'viem'
import type { ProxiedCall, Ruling } from '../../test/support/nodeProxy.js'
import { sharedNowMs } from './sharedNow.js'

export const FAULTS = ['lost request', 'lost answer', 'HTTP 503', 'hash of what was never pooled'] as const
/** Fault of one request with sends, or of its first transaction. */
export type Fault = (typeof FAULTS)[number]

const SEND = 'eth_sendRawTransaction'
const PASS: Ruling = { type: 'pass' }

/** Hits the first request with a send after it was armed, once. */
export function createFault() {
  let armed: Fault | undefined
  let struckAtMs: number | undefined

  function rule(calls: readonly ProxiedCall[]): Ruling {
    const place = calls.findIndex(({ method }) => method === SEND)
    if (armed === undefined || place < 0) return PASS
    const fault = armed
    armed = undefined
    struckAtMs = sharedNowMs()
    return rulingOf(fault, place, calls[place]?.params[0] as Hex)
  }

  return {
    rule,
    arm(fault: Fault) {
      armed = fault
      struckAtMs = undefined
    },
    /** Time of the hit, by the clock that all processes share; undefined before it. */
    struckAtMs: () => struckAtMs,
  }
}

function rulingOf(fault: Fault, place: number, raw: Hex): Ruling {
  switch (fault) {
    case 'lost request':
      return { type: 'loseRequest' }
    case 'lost answer':
      return { type: 'loseAnswer' }
    case 'HTTP 503':
      return { type: 'refuse', status: 503, text: 'Service Unavailable' }
    case 'hash of what was never pooled':
      return { type: 'swallow', place, result: keccak256(raw) }
    default:
      return fault satisfies never
  }
}
