import type { CancelTimer, Clock } from '../platform/clock.js'
import type { OutboxLane, StoredDelivery } from '../types/outbox.js'
import { type LaneKey, laneName, type StoredTransaction } from '../types/store.js'
import { type Courier, OPEN_MAX, reopened } from './courier.js'
import { advance, isSameNews } from './news.js'
import type { OutboxSettings } from './options.js'
import { nameOf, type Writer } from './writer.js'

/** Reads what changed in the lanes, and keeps what is to be told of it before it goes on. */
export type Reader = {
  /** Looks at once. */
  wake(): void
  stop(): void
}

export type ReaderParts = {
  readonly clock: Pick<Clock, 'setTimer'>
  readonly settings: OutboxSettings
  readonly writer: Pick<Writer, 'write'>
  readonly courier: Pick<Courier, 'offer' | 'note' | 'size' | 'withoutRoom'>
  /** A delivery was given up before it was tried. */
  readonly givenUp: (delivery: StoredDelivery) => void
  /** The name is in the store. */
  readonly known: () => void
  /** Each look that failed, or `undefined` for one that did not. */
  readonly noted: (error: unknown) => void
}

/** How often it looks where no hint comes. */
const EVERY_MS = 1_000
/** Between two looks, however many hints come. */
const REST_MS = 20
const PAGE = 200

export function createReader(parts: ReaderParts): Reader {
  const { clock, settings, writer, courier, givenUp, known, noted } = parts
  const { store, name, wanted, chainId } = settings
  const watched = new Map<string, () => void>()
  let timer: CancelTimer | undefined
  let looking = false
  let hinted = false
  let stopped = false

  function plan(delayMs: number): void {
    timer?.()
    if (!stopped) timer = clock.setTimer(run, delayMs)
  }

  function run(): void {
    looking = true
    hinted = false
    look()
      .then(() => noted(undefined), noted)
      .finally(() => {
        looking = false
        plan(hinted ? REST_MS : EVERY_MS)
      })
  }

  function wake(): void {
    if (hinted) return
    hinted = true
    if (!looking) plan(REST_MS)
  }

  async function look(): Promise<void> {
    const { isKnown, behind } = await store.readOutbox(name)
    watch(behind)
    if (!isKnown && !(await begin(behind))) return
    known()
    const lanes = !isKnown && settings.from === 'now' ? [] : behind
    for (const one of lanes) if (chainId === undefined || one.lane.chainId === chainId) await readLane(one)
  }

  /** The first time of this name: from here on nothing is left out. */
  function begin(behind: readonly OutboxLane[]): Promise<boolean> {
    const passed = settings.from === 'now' ? behind : []
    return writer.write({ read: passed, deliveries: [] })
  }

  function watch(lanes: readonly Pick<OutboxLane, 'lane'>[]): void {
    if (stopped) return
    for (const { lane } of lanes) {
      const own = laneName(lane)
      if (!watched.has(own)) watched.set(own, store.watch(lane, wake))
    }
  }

  /** Up to the revision that it had: what is newer is read the next time. */
  async function readLane({ lane, revision, read }: OutboxLane): Promise<void> {
    for (let after = read; after < revision && !stopped && courier.size < OPEN_MAX; ) {
      const page = await store.changes(lane, after, PAGE)
      // A page that is not full shows all that there was: the newest changes may be of transactions that are gone.
      const upTo = page.transactions.length < PAGE ? Math.max(revision, page.revision) : page.revision
      const news = await newsIn(lane, page.transactions)
      const deliveries = news.map(({ delivery }) => delivery)
      if (!(await writer.write({ read: [{ lane, revision: upTo }], deliveries }))) return
      for (const { delivery, record } of news)
        if (delivery.state === 'dead') givenUp(delivery)
        else courier.offer(delivery, record)
      after = upTo
    }
  }

  async function newsIn(lane: LaneKey, changed: readonly StoredTransaction[]) {
    const chain = { chainId: lane.chainId, genesisHash: lane.genesisHash }
    const others = changed.filter(({ id }) => !courier.note(nameOf({ chain, id })))
    const kept = await store.deliveries(name, { chain, ids: others.map(({ id }) => id) })
    const byId = new Map(kept.map((one) => [one.id, one]))
    return others.flatMap((record) => {
      const { id } = record
      const before = byId.get(id) ?? { chain, id, state: 'told', count: 0, tries: 0 }
      const delivery = changedBy(before, record)
      return delivery === before ? [] : [{ delivery, record }]
    })
  }

  /** The same where there is nothing to tell. That it changed is a reason to try once more what was given up. */
  function changedBy(before: StoredDelivery, record: StoredTransaction): StoredDelivery {
    const delivery = advance(before, record, wanted)
    if (delivery.state === 'told') return delivery
    const refused = courier.withoutRoom(delivery, record.group)
    if (refused) return refused
    return isSameNews(delivery.next, before.next) ? reopened(delivery) : delivery
  }

  plan(0)
  return {
    wake,
    stop() {
      stopped = true
      timer?.()
      for (const off of watched.values()) off()
      watched.clear()
    },
  }
}
