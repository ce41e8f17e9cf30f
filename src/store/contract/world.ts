import { systemClock, systemRandom } from '../../platform/clock.js'
import type { LaneKey, LaneWrite, Lease, Store, StoredTransaction } from '../../types/store.js'
import { ok } from './check.js'
import { transactionIn } from './samples.js'

/** What a case has to work with: lanes and ids that no other case knows, so that all may share one database. */
export type World = {
  readonly store: Store
  /** Another connection to the same records, where there can be one; else the store itself. */
  readonly other: Store
  readonly lane: LaneKey
  /** A lane on a chain that nobody has seen yet. */
  newLane(): LaneKey
  /** The name of a holder that nobody has been yet. */
  newHolder(): string
  /** The lane's lease, for long enough. */
  take(lane?: LaneKey): Promise<Lease>
  /** Kept, each with its place in the order of arrival. */
  keep(...ids: readonly string[]): Promise<readonly StoredTransaction[]>
  write(lease: Lease, change: Partial<LaneWrite>): Promise<void>
  /** Lets time pass on the clock of the store. */
  elapse(ms: number): Promise<void>
  /** Sets the clock of the store back. Only for cases that are `stepped`. */
  setBack(ms: number): Promise<void>
}

/** One promise of the interface. */
export type Case = {
  readonly name: string
  /** Needs a second connection to the same records. */
  readonly shared?: true
  /** Needs a clock that can be set back. */
  readonly stepped?: true
  readonly run: (world: World) => Promise<void>
}

/** Longer than any case takes. */
export const LONG_MS = 600_000

export function createWorld(
  store: Store,
  other: Store,
  time: { readonly elapse: (ms: number) => Promise<void>; readonly setBack: (ms: number) => Promise<void> },
): World {
  const lane = newLane()
  return {
    store,
    other,
    lane,
    newLane,
    newHolder: () => `holder-${randomHex(16)}`,
    async take(of = lane) {
      const lease = await store.acquire(of, `holder-${randomHex(16)}`, LONG_MS)
      ok(lease !== undefined, 'a lane that nobody has cannot be taken')
      return lease
    },
    async keep(...ids) {
      const kept = await store.enqueue(ids.map((id) => transactionIn(lane, id)))
      return kept.map(({ transaction }) => transaction)
    },
    write: (lease, change) => store.write(lease, { slots: [], transactions: [], cursor: 0, ...change }),
    ...time,
  }
}

function newLane(): LaneKey {
  return { chainId: 31_337, genesisHash: `0x${randomHex(64)}`, address: `0x${randomHex(40)}` }
}

function randomHex(length: number): string {
  return Array.from({ length }, () => Math.floor(systemRandom() * 16).toString(16)).join('')
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.setTimer(resolve, ms))
}

const HINT_MS_MAX = 5_000
const LOOK_MS = 5

/** Waits in real time, since hints come in real time whatever clock the leases have. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  for (let waitedMs = 0; !condition(); waitedMs += LOOK_MS) {
    ok(waitedMs < HINT_MS_MAX, what)
    await sleep(LOOK_MS)
  }
}
