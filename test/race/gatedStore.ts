import type { Hex } from 'viem'
import type { Slot } from '../../src/ledger/slot.js'
import { memoryStore } from '../../src/store/memory.js'
import type { Store } from '../../src/types/store.js'
import type { Draws, Gates } from './gates.js'

/** What becomes of one write. */
export type Takes = 'takes' | 'fails' | 'takes, and nobody hears of it'

export type GatedStore = Store & {
  /** All bytes that were ever committed: each may have been sent, by anyone, for ever (P2). */
  readonly journaled: ReadonlySet<Hex>
  /** Bytes as the store has them now, by nonce: what a process that begins now would find. */
  readonly kept: ReadonlyMap<number, readonly Hex[]>
  /** Nonces whose first bytes are on their way into the store: nobody knows yet whether they are in it. */
  readonly awaiting: ReadonlySet<number>
  /** Writes without an answer. */
  readonly writing: number
  /** Told of each write before it happens. */
  onWrite: (() => void) | undefined
}

/** A store in memory whose every answer waits for the schedule. */
export function createGatedStore(
  gates: Gates,
  draws: { writes: Draws<Takes>; ids: Draws<Takes> },
): GatedStore {
  const inner = memoryStore()
  const journaled = new Set<Hex>()
  const kept = new Map<number, readonly Hex[]>()
  const acknowledged = new Set<Hex>()
  const awaiting = new Set<number>()
  let writing = 0

  function acknowledge(slots: readonly Slot[]): void {
    for (const { nonce, attempts } of slots) {
      awaiting.delete(nonce)
      for (const { raw } of attempts) acknowledged.add(raw)
    }
  }

  /** A no-op fills a gap that is there already: what stands above it may be out. */
  function begun(slots: readonly Slot[]): void {
    for (const { nonce, attempts } of slots) {
      const known = attempts.some(({ raw }) => acknowledged.has(raw))
      if (!known && attempts.some(({ claim }) => claim !== undefined)) awaiting.add(nonce)
    }
  }

  /** The write itself happens somewhere between the two gates, as in a database. */
  async function raced<T>(name: string, takes: Takes, work: () => Promise<T>): Promise<T> {
    await gates.pass(name)
    if (takes === 'fails') throw new Error('the connection is gone')
    const result = await work()
    await gates.pass(`${name} answers`)
    if (takes === 'takes') return result
    throw Object.assign(new Error('the connection is gone'), { details: 'unknown' })
  }

  const store: GatedStore = {
    ...inner,
    journaled,
    kept,
    awaiting,
    get writing() {
      return writing
    },
    onWrite: undefined,
    acquire: (...given) => raced('acquire', 'takes', () => inner.acquire(...given)),
    release: (...given) => raced('release', 'takes', () => inner.release(...given)),
    async load(lease) {
      const state = await raced('load', 'takes', () => inner.load(lease))
      // What it does not show is not there: it is asked for again, or given up.
      awaiting.clear()
      acknowledge(state.slots)
      return state
    },
    find: (...given) => raced('find', 'takes', () => inner.find(...given)),
    enqueue: (...given) => raced('enqueue', draws.ids.next(), () => inner.enqueue(...given)),
    async write(lease, change) {
      store.onWrite?.()
      begun(change.slots)
      writing++
      await raced('write', draws.writes.next(), async () => {
        await inner.write(lease, change)
        for (const { nonce, attempts } of change.slots) {
          kept.set(
            nonce,
            attempts.map(({ raw }) => raw),
          )
          for (const { raw } of attempts) journaled.add(raw)
        }
      }).finally(() => writing--)
      acknowledge(change.slots)
    },
  }
  return store
}
