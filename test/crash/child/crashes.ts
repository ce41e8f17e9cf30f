import { Agent, request } from 'node:http'
import type { Slot } from '../../../src/ledger/slot.js'
import { hasEnded } from '../../../src/store/ended.js'
import type { LaneWrite, Store } from '../../../src/types/store.js'
import { responseTo } from '../../sweep/responses.js'
import type { LifeOrder } from '../asks.js'
import type { Point } from '../plan.js'
import { report } from './report.js'

/** Counts the passes of the points, and ends the process at the planned one. */
type Trigger = (point: Point) => void

export function createTrigger(end: LifeOrder['end']): Trigger {
  let passes = 0
  return (point) => {
    if (point !== end?.point || ++passes !== end.pass) return
    if (point.endsWith(':during')) return report({ report: 'end me', point })
    report({ report: 'ends', point })
    // No handler runs and no buffer is flushed: for the system the process is over when this returns.
    process.kill(process.pid, 'SIGKILL')
  }
}

const agent = new Agent({ keepAlive: true })

/**
 * A minimal `fetch` over Node's own HTTP that reports when the system has taken the last byte of a request.
 * The crash points apply to requests that send transactions; all others pass.
 */
export function createCrashingFetch(pass: Trigger): typeof fetch {
  return async (input, init) => {
    const body = String(init?.body ?? '')
    const sends = body.includes('eth_sendRawTransaction')
    if (sends) pass('broadcast:before')
    const answer = await post(
      String(input instanceof Request ? input.url : input),
      body,
      init?.signal,
      () => {
        if (sends) pass('broadcast:sent')
      },
    )
    if (sends) pass('broadcast:answered')
    return answer
  }
}

function post(
  url: string,
  body: string,
  signal: AbortSignal | null | undefined,
  sent: () => void,
): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const posted = request(url, { method: 'POST', agent, headers, ...(signal ? { signal } : {}) })
  // The last segment was handed to the system, which delivers it even if the process dies.
  posted.once('finish', sent)
  posted.end(body)
  return responseTo(posted)
}

/** The store, with the crash points around its calls. */
export function createCrashingStore(inner: Store, pass: Trigger): Store {
  const journaled = new Set<string>()
  const settled = new Set<number>()

  function know(slots: readonly Slot[]): void {
    for (const slot of slots) {
      for (const { hash } of slot.attempts) journaled.add(hash)
      if (isSettled(slot)) settled.add(slot.nonce)
    }
  }

  function kindsOf({ slots, transactions }: LaneWrite): readonly ('write' | 'journal' | 'settle')[] {
    const journals = slots.some(({ attempts }) => attempts.some(({ hash }) => !journaled.has(hash)))
    const settles =
      transactions.some(({ stage }) => hasEnded(stage)) ||
      slots.some((slot) => isSettled(slot) && !settled.has(slot.nonce))
    return ['write', ...(journals ? ['journal' as const] : []), ...(settles ? ['settle' as const] : [])]
  }

  return {
    ...inner,
    async acquire(...given) {
      pass('acquire:before')
      const lease = await inner.acquire(...given)
      pass('acquire:after')
      return lease
    },
    async load(lease) {
      pass('load:before')
      const state = await inner.load(lease)
      know(state.slots)
      pass('load:after')
      return state
    },
    async enqueue(transactions) {
      pass('enqueue:before')
      pass('enqueue:during')
      const kept = await inner.enqueue(transactions)
      pass('enqueue:after')
      return kept
    },
    async write(lease, change) {
      const kinds = kindsOf(change)
      for (const kind of kinds) pass(`${kind}:before`)
      pass('write:during')
      await inner.write(lease, change)
      know(change.slots)
      for (const kind of kinds) pass(`${kind}:after`)
    },
    async release(lease) {
      pass('release:before')
      await inner.release(lease)
      pass('release:after')
    },
  }
}

function isSettled(slot: Slot): boolean {
  return slot.state === 'final' || (slot.state === 'used' && slot.settled)
}
