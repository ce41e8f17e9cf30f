import { checkNames, type Names } from '../errors/checkNames.js'
import { systemClock } from '../platform/clock.js'
import { chainName, type Lease, laneName, type Store, type StoredTransaction } from '../types/store.js'
import { hasEnded, UNSEALED } from './ended.js'
import { isHeld, isOwner, takeLease } from './leaseTime.js'
import { createMemoryOutboxes } from './memoryOutbox.js'
import {
  createMemoryLanes,
  createMemoryRecords,
  fencedLane,
  type KeptTransaction,
  type MemoryLane,
  type MemoryLanes,
  type MemoryRecords,
  notifyWatchers,
  transactionsIn,
} from './memoryRecords.js'
import { arrivalsPage, arrivedUpTo, type ListPlace, listBounds, listPage, newestFirst } from './page.js'

export type MemoryStoreOptions = {
  /** Maximum number of ended transactions that are kept; the oldest are deleted first. @default 100,000 */
  historyMax?: number
  /** The clock for leases, in milliseconds. It may step. @default a monotonic clock of this process */
  now?: () => number
}

/** Keeps all records in this process: P2 to P5 hold until the process ends, and nothing survives it. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkNames('options', options, { historyMax: true, now: true } satisfies Names<MemoryStoreOptions>)
  const { historyMax = 100_000, now = systemClock.now } = options
  const lanes = createMemoryLanes()
  const outboxes = createMemoryOutboxes({
    now,
    lanes: lanes.all,
    isStored: (chain, id) => lanes.bookOf(chain).byId.has(id),
  })
  const records = createMemoryRecords(lanes, historyMax, outboxes.forget)
  return {
    kind: 'memory',
    durable: false,
    ...outboxes.verbs,
    ...leaseVerbs(lanes, now),
    ...writeVerbs(lanes, records),
    ...readVerbs(lanes),
    async close() {},
  }
}

type LeaseVerb = 'acquire' | 'renew' | 'release' | 'report' | 'reports' | 'unfinished' | 'counters'

function leaseVerbs(lanes: MemoryLanes, now: () => number): Pick<Store, LeaseVerb> {
  return {
    async acquire(lane, holder, ttlMs) {
      const state = lanes.of(lane)
      return takeLease(state, holder, ttlMs, now()) ? { lane, epoch: state.epoch, holder } : undefined
    },
    async renew(holder, ttlMs) {
      const leases: Lease[] = []
      for (const state of lanes.all()) {
        if (state.holder !== holder) continue
        state.untilMs = now() + ttlMs
        state.leaseMs = ttlMs
        leases.push({ lane: state.key, epoch: state.epoch, holder })
      }
      return leases
    },
    async release(lease) {
      const state = lanes.of(lease.lane)
      if (!isOwner(state, lease)) return
      state.holder = undefined
      notifyWatchers(state)
    },
    async report(reports) {
      for (const { lease, report } of reports) {
        const state = lanes.of(lease.lane)
        if (isOwner(state, lease)) state.report = { epoch: lease.epoch, of: report }
      }
    },
    async reports(of) {
      return of.flatMap((lane) => {
        const state = lanes.named(laneName(lane))
        if (state === undefined) return []
        const { epoch, report } = state
        return [
          { lane, isHeld: isHeld(state, now()), report: report?.epoch === epoch ? report.of : undefined },
        ]
      })
    },
    async counters(chain) {
      return [...lanes.all()].flatMap((state) => {
        const { key, report, cursor, slots } = state
        const { counter } = report?.of ?? {}
        if (counter === undefined || chainName(key) !== chainName(chain)) return []
        const lease = isHeld(state, now())
          ? { holder: state.holder, leaseMs: state.untilMs - now() }
          : { holder: undefined, leaseMs: undefined }
        return { lane: key, counter, ...lease, cursor, slots: [...slots.values()] }
      })
    },
    async unfinished(chain) {
      const counts = new Map<string, number>()
      for (const { transaction } of lanes.bookOf(chain).byId.values()) {
        const name = laneName(transaction.lane)
        if (UNSEALED.includes(transaction.stage)) counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      return [...counts].map(([name, transactions]) => {
        const state = lanes.named(name) as MemoryLane
        return { lane: state.key, transactions, isHeld: isHeld(state, now()) }
      })
    },
  }
}

type WriteVerb = 'load' | 'write' | 'enqueue' | 'restart' | 'postCommand'

function writeVerbs(lanes: MemoryLanes, records: MemoryRecords): Pick<Store, WriteVerb> {
  return {
    async load(lease) {
      const lane = fencedLane(lanes, lease)
      const open = transactionsIn(lane)
        .map(({ transaction }) => transaction)
        .filter(({ stage }) => !hasEnded(stage))
        .sort((a, b) => a.sequence - b.sequence)
      return {
        slots: [...lane.slots.values()],
        transactions: open,
        cursor: lane.cursor,
        arrived: arrivedUpTo(lane.sequence, lane.commands[0]?.sequence),
      }
    },
    async write(lease, change) {
      const lane = fencedLane(lanes, lease)
      for (const transaction of change.transactions) {
        if (transaction.lane.address === lease.lane.address) records.put(lane, transaction)
        else records.hand(lane, transaction)
      }
      for (const slot of change.slots) records.putSlot(lane, slot)
      lane.cursor = Math.max(lane.cursor ?? 0, change.cursor)
      const { commandsDoneUpTo = 0 } = change
      if (commandsDoneUpTo > 0)
        lane.commands = lane.commands.filter(({ sequence }) => sequence > commandsDoneUpTo)
      notifyWatchers(lane)
    },
    async enqueue(added) {
      return added.map(records.enqueue)
    },
    restart: async (transaction, before) => records.restart(transaction, before),
    async postCommand(chain, id, command) {
      const found = lanes.bookOf(chain).byId.get(id)
      if (found === undefined || hasEnded(found.transaction.stage)) return false
      const lane = lanes.of(found.transaction.lane)
      lane.commands.push({ sequence: ++lane.sequence, id, command })
      notifyWatchers(lane)
      return true
    },
  }
}

type ReadVerb = 'chains' | 'arrivals' | 'changes' | 'watch' | 'find' | 'list'

function readVerbs(lanes: MemoryLanes): Pick<Store, ReadVerb> {
  return {
    chains: async (chain) => lanes.chains(chain),
    async arrivals(lane, after, limit) {
      const { arrived, commands } = lanes.of(lane)
      const transactions: StoredTransaction[] = []
      for (const { transaction } of arrived.between(after + 1, Number.POSITIVE_INFINITY)) {
        if (transactions.length === limit) break
        transactions.push(transaction)
      }
      return arrivalsPage(
        { transactions, commands: commands.filter(({ sequence }) => sequence > after) },
        limit,
      )
    },
    async changes(lane, revision, limit) {
      if (revision === 'now') return { transactions: [], revision: lanes.of(lane).revision }
      const changed = transactionsIn(lanes.of(lane))
        .filter((one) => one.revision > revision)
        .sort((a, b) => a.revision - b.revision)
        .slice(0, limit)
      return {
        transactions: changed.map(({ transaction }) => transaction),
        revision: changed.at(-1)?.revision ?? revision,
      }
    },
    watch(lane, changed) {
      const { watchers } = lanes.of(lane)
      // Wrapped, so that the same function can be registered twice.
      const own = (sequence: number) => changed(sequence)
      watchers.add(own)
      return () => void watchers.delete(own)
    },
    async find(chain, by) {
      const book = lanes.bookOf(chain)
      return ('id' in by ? book.byId.get(by.id) : book.byHash.get(by.hash))?.transaction
    },
    async list(of, options) {
      const { stage, group, limit } = options
      const { below, fromMs } = listBounds(options)
      const isOf = ({ transaction: one }: KeptTransaction) =>
        (stage === undefined || one.stage === stage) &&
        (group === undefined || one.group === group) &&
        one.createdAtMs >= fromMs
      const listed =
        'chainId' in of
          ? [...lanes.bookOf(of).byId.values()]
          : of.flatMap((lane) => transactionsIn(lanes.of(lane)))
      const rows = listed
        .filter(isOf)
        .map((one) => ({ place: placeOf(one), transaction: one.transaction }))
        .filter(({ place }) => newestFirst(below, place) < 0)
        .sort((a, b) => newestFirst(a.place, b.place))
      return listPage(rows, limit, { place: ({ place }) => place, transaction: (row) => row.transaction })
    },
  }
}

function placeOf({ transaction: { createdAtMs, id }, arrival }: KeptTransaction): ListPlace {
  return { createdAtMs, arrival, id }
}
