import { request } from 'node:http'
import { type CancelTimer, systemClock } from '../../../src/platform/clock.js'
import { responseTo } from '../../sweep/responses.js'
import type { Held } from './report.js'

/** Watches each request of this process by replacing `fetch`. */
export type WatchedRequests = {
  /**
   * Called when the process acquires a lane. The next request with a transaction of the lane is its first.
   */
  holds(held: Held): void
  /** Called when bytes of the lane may be sent. */
  journaled(raw: string, held: Held): void
  /** The next request that sends transactions is left half sent, and the process stops. */
  stopInNext(withinMs: number): void
}

// The number of journaled transactions that are remembered: enough to recognise those of the next request.
const KNOWN_MAX = 20_000

export function watchRequests(reported: {
  readonly stopping: () => void
  readonly notStopping: () => void
  readonly sends: (held: Held) => void
}): WatchedRequests {
  const plain = globalThis.fetch
  const waiting = new Map<number, Held>()
  const known = new Map<string, number>()
  let stopNext: CancelTimer | undefined

  function see(body: string): void {
    if (waiting.size === 0) return
    for (const [raw] of body.matchAll(/0x[0-9a-f]{130,}/g)) {
      const held = waiting.get(known.get(raw) ?? -1)
      if (held === undefined) continue
      waiting.delete(held.account)
      reported.sends(held)
    }
  }

  globalThis.fetch = (input, init) => {
    const body = typeof init?.body === 'string' ? init.body : ''
    if (!body.includes('eth_sendRawTransaction')) return plain(input, init)
    see(body)
    if (stopNext === undefined) return plain(input, init)
    stopNext()
    stopNext = undefined
    return halfSent(String(input instanceof Request ? input.url : input), body, reported.stopping)
  }

  return {
    holds: (held) => void waiting.set(held.account, held),
    journaled(raw, { account }) {
      // Once the first request was seen, later bytes of the lane need not be remembered.
      if (!waiting.has(account)) return
      known.set(raw, account)
      if (known.size > KNOWN_MAX) known.clear()
    },
    stopInNext(withinMs) {
      stopNext = systemClock.setTimer(() => {
        stopNext = undefined
        reported.notStopping()
      }, withinMs)
    },
  }
}

/**
 * Sends the headers and half of the body, then stops the process. When it is continued, it sends the rest.
 */
function halfSent(url: string, body: string, stopping: () => void): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const posted = request(url, { method: 'POST', headers })
  const half = Math.floor(body.length / 2)
  // Called once the system has taken this part.
  posted.write(body.slice(0, half), () => {
    stopping()
    process.kill(process.pid, 'SIGSTOP')
    posted.end(body.slice(half))
  })
  return responseTo(posted)
}
