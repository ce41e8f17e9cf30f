import type { Hex } from 'viem'
import { memoryStore } from '../../src/store/memory.js'
import type { Store } from '../../src/store/store.js'
import type { Draws, Gates } from './gates.js'

/** What becomes of one write. */
export type Takes = 'takes' | 'fails' | 'takes, and nobody hears of it'

export type GatedStore = Store & {
  /** All bytes that were ever committed: each may have been sent, by anyone, for ever (P2). */
  readonly journaled: ReadonlySet<Hex>
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
    onWrite: undefined,
    acquire: (...given) => raced('acquire', 'takes', () => inner.acquire(...given)),
    release: (...given) => raced('release', 'takes', () => inner.release(...given)),
    load: (...given) => raced('load', 'takes', () => inner.load(...given)),
    find: (...given) => raced('find', 'takes', () => inner.find(...given)),
    enqueue: (...given) => raced('enqueue', draws.ids.next(), () => inner.enqueue(...given)),
    write(lease, change) {
      store.onWrite?.()
      return raced('write', draws.writes.next(), async () => {
        await inner.write(lease, change)
        for (const slot of change.slots) for (const { raw } of slot.attempts) journaled.add(raw)
      })
    },
  }
  return store
}
