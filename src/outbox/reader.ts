import type { CancelTimer, Clock } from '../platform/clock.js'
import type { OutboxLane, StoredDelivery } from '../types/outbox.js'
import { type LaneKey, laneName, type StoredTransaction } from '../types/store.js'
import { type DeliveryWorker, OPEN_MAX } from './deliveryWorker.js'
import { advance, isSameNews, reopened } from './news.js'
import type { OutboxSettings } from './options.js'
import { nameOf, type Writer } from './writer.js'

/** Reads changes in the lanes, and stores the resulting deliveries before it continues. */
export type Reader = {
  /** Reads at once. */
  wake(): void
  stop(): void
}

export type ReaderParts = {
  readonly clock: Pick<Clock, 'setTimer'>
  readonly settings: OutboxSettings
  readonly writer: Pick<Writer, 'write'>
  readonly worker: Pick<DeliveryWorker, 'offer' | 'note' | 'size' | 'withoutRoom'>
  /** Called when a delivery was given up before it was tried. */
  readonly givenUp: (delivery: StoredDelivery) => void
  /** Called when the name is in the store. */
  readonly known: () => void
  /** Called with the error of each failed read, and with `undefined` after a successful one. */
  readonly noted: (error: unknown) => void
}

/** The polling interval without hints. */
const EVERY_MS = 1_000
/** Minimum pause between two reads, regardless of hints. */
const REST_MS = 20
const PAGE = 200

export function createReader(parts: ReaderParts): Reader {
  const { clock, settings, writer, worker, givenUp, known, noted } = parts
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

  /** Stores a new name. From here on no change is missed. */
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

  /** Reads a lane up to the revision that it had. Newer changes are read the next time. */
  async function readLane({ lane, revision, read }: OutboxLane): Promise<void> {
    for (let after = read; after < revision && !stopped && worker.size < OPEN_MAX; ) {
      const page = await store.changes(lane, after, PAGE)
      // A partly filled page contains all changes: the newest ones may belong to transactions that were
      // deleted.
      const upTo = page.transactions.length < PAGE ? Math.max(revision, page.revision) : page.revision
      const news = await newsIn(lane, page.transactions)
      const deliveries = news.map(({ delivery }) => delivery)
      if (!(await writer.write({ read: [{ lane, revision: upTo }], deliveries }))) return
      for (const { delivery, record } of news)
        if (delivery.state === 'dead') givenUp(delivery)
        else worker.offer(delivery, record)
      after = upTo
    }
  }

  async function newsIn(lane: LaneKey, changed: readonly StoredTransaction[]) {
    const chain = { chainId: lane.chainId, genesisHash: lane.genesisHash }
    const others = changed.filter(({ id }) => !worker.note(nameOf({ chain, id })))
    const kept = await store.deliveries(name, { chain, ids: others.map(({ id }) => id) })
    const byId = new Map(kept.map((one) => [one.id, one]))
    return others.flatMap((record) => {
      const { id } = record
      const before = byId.get(id) ?? { chain, id, state: 'delivered', count: 0, tries: 0 }
      const delivery = changedBy(before, record)
      return delivery === before ? [] : [{ delivery, record }]
    })
  }

  /**
   * The delivery after a change; the same object if there is nothing to deliver. A change is a reason to
   * retry a delivery that was given up.
   */
  function changedBy(before: StoredDelivery, record: StoredTransaction): StoredDelivery {
    const delivery = advance(before, record, wanted)
    if (delivery.state === 'delivered') return delivery
    const refused = worker.withoutRoom(delivery, record.group)
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
