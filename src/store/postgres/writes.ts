import { TxlaneError } from '../../errors/base.js'
import {
  type LaneKey,
  type LaneState,
  type LaneWrite,
  type Lease,
  laneName,
  lanesOf,
  type Store,
  type StoredTransaction,
} from '../../types/store.js'
import { decodeSlot, encodeBody } from '../codec.js'
import { hasEnded, isGone } from '../ended.js'
import { laneLost } from '../leaseLost.js'
import { arrivedUpTo } from '../page.js'
import { addLanes, type Context, nameOf, transactionOf } from './context.js'
import type { Row } from './driver.js'
import type { Pruner } from './prune.js'
import { lines, list, listedValuesOf } from './sql/lists.js'

// Each refusal returns the current fence. Only concurrent writes of the same owner can overtake it again.
const TRIES_MAX = 50

/**
 * The methods of the lease owner. Writes and loads are numbered, and the lane's row stores the newest number
 * (the fence). A write whose answer was lost, and that is still in transit when the lane is read again, is
 * refused by the fence. So it cannot undo decisions based on that reading.
 */
export function holderVerbs(context: Context, pruner: Pruner): Pick<Store, 'load' | 'write'> {
  const { database, sql, channel } = context
  let numbered = 0

  async function catchUp(lease: Lease): Promise<void> {
    const [row] = await database.read({ text: sql.fence, values: leaseOf(lease) })
    if (row === undefined) throw laneLost()
    numbered = Math.max(numbered, Number(row.fence))
  }

  /** Runs a statement that finds no lane if its number or its lease is not the newest. */
  async function numberedChange(
    lease: Lease,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly Row[]> {
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const rows = await database.change({ text, values: [...leaseOf(lease), ++numbered, ...values] })
      if (rows.length > 0) return rows
      await catchUp(lease)
    }
    throw new TxlaneError('Other writes of the same lease owner repeatedly went before this one.', {
      code: 'STORE',
      fate: 'notExecuted',
    })
  }

  async function hand(lease: Lease, transactions: readonly StoredTransaction[]): Promise<void> {
    const lanes = lanesOf(transactions)
    const values = [...handedValuesOf(lanes, transactions), channel]
    const [row] = await numberedChange(lease, sql.hand, values)
    if (Number(row?.placed) === lanes.length) return
    await addLanes(context, lanes)
    await numberedChange(lease, sql.hand, values)
  }

  return {
    async load(lease) {
      const [shut] = await database.change({ text: sql.shut, values: [...leaseOf(lease), numbered] })
      if (shut === undefined) throw laneLost()
      numbered = Math.max(numbered, Number(shut.fence))
      return stateOf(await database.read({ text: sql.load, values: leaseOf(lease) }))
    },
    async write(lease, change) {
      const isOwn = ({ lane }: StoredTransaction) => lane.address === lease.lane.address
      const handed = change.transactions.filter((one) => !isOwn(one))
      // Hand-offs go first and are independent: if the rest fails, the whole write is repeated, and
      // transactions already handed off stay so.
      if (handed.length > 0) await hand(lease, handed)
      const own = handed.length > 0 ? { ...change, transactions: change.transactions.filter(isOwn) } : change
      const written = latestOf(own.transactions)
      const values = [...valuesOf(own, written), channel, laneName(lease.lane), ...listedValuesOf(written)]
      await numberedChange(lease, sql.write, values)
      pruner.wrote()
    },
  }
}

/**
 * Parameters `$7` to `$12` of the hand-off: the lanes, then the rows, which refer to their lane by its index.
 */
function handedValuesOf(lanes: readonly LaneKey[], transactions: readonly StoredTransaction[]): unknown[] {
  const byId = [...new Map(transactions.map((one) => [one.id, one])).values()]
  const handed = lanes.map(({ address }) => byId.filter(({ lane }) => lane.address === address))
  const rows = handed.flatMap((of, lane) =>
    of.map((transaction, nth) => ({ lane: lane + 1, nth: nth + 1, transaction })),
  )
  return [
    lanes.map(({ address }) => address),
    handed.map(({ length }) => length),
    list(rows.map(({ lane }) => lane)),
    list(rows.map(({ nth }) => nth)),
    rows.map(({ transaction }) => transaction.id),
    lines(rows.map(({ transaction }) => encodeBody(transaction))),
  ]
}

function leaseOf({ lane, epoch, holder }: Lease): unknown[] {
  return [...nameOf(lane), epoch, holder]
}

function stateOf(rows: readonly Row[]): LaneState {
  const lane = rows.find(({ kind }) => kind === 'lane')
  if (lane === undefined) throw laneLost()
  const command = rows.find(({ kind }) => kind === 'command')
  return {
    slots: rows.filter(({ kind }) => kind === 'slot').map(({ body }) => decodeSlot(String(body))),
    transactions: rows
      .filter(({ kind }) => kind === 'transaction')
      .map(transactionOf)
      .sort((a, b) => a.sequence - b.sequence),
    cursor: lane.cursor === null ? undefined : Number(lane.cursor),
    arrived: arrivedUpTo(Number(lane.sequence), command && Number(command.sequence)),
  }
}

const latestOf = (transactions: readonly StoredTransaction[]) => [
  ...new Map(transactions.map((one) => [one.id, one])).values(),
]

/** Parameters `$7` to `$19` of the write. */
function valuesOf(change: LaneWrite, transactions: readonly StoredTransaction[]): unknown[] {
  // The last entry for a key counts, because one statement may touch a row only once.
  const slots = [...new Map(change.slots.map((slot) => [slot.nonce, slot])).values()]
  const kept = slots.filter((slot) => !isGone(slot))
  const hashes = hashesOf(change)
  const written = new Set(transactions.map(({ id }) => id))
  return [
    change.cursor,
    list(slots.filter(isGone).map(({ nonce }) => nonce)),
    list(kept.map(({ nonce }) => nonce)),
    lines(kept.map(encodeBody)),
    change.commandsDoneUpTo ?? null,
    transactions.map(({ id }) => id),
    list(transactions.map(({ sequence }) => sequence)),
    list(transactions.map(({ stage }) => stage)),
    list(transactions.map(({ stage }) => hasEnded(stage))),
    lines(transactions.map(encodeBody)),
    list(hashes.map(([hash]) => hash)),
    hashes.map(([, id]) => id),
    list(hashes.map(([, id]) => written.has(id))),
  ]
}

/**
 * The hashes of every attempt that a transaction ever had, by which it is found. All writers use the same
 * order.
 */
function hashesOf({ slots, transactions }: LaneWrite): [hash: string, id: string][] {
  const hashes = new Map<string, string>()
  for (const { hash, id } of transactions) if (hash !== undefined) hashes.set(hash, id)
  for (const { attempts } of slots) {
    for (const { hash, claim } of attempts) if (claim !== undefined) hashes.set(hash, claim)
  }
  return [...hashes].sort(([a], [b]) => (a < b ? -1 : 1))
}
