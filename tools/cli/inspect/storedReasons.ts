import type { Address, Hash } from 'viem'
import { fromStored } from '../../../src/lane/transaction/stored.js'
import { storedReason, summaryOf } from '../../../src/lane/transaction/waitingFor.js'
import type { HoldReason, LaneSnapshot, Stage, WaitReason } from '../../../src/types/index.js'
import type { Store, StoredTransaction } from '../../../src/types/store.js'
import type { Connection } from '../shared/connect.js'
import { wrapped } from '../shared/output.js'
import { storedTransactions } from '../shared/storedTransactions.js'

/** Why transactions of one account have not progressed, from the reasons that the sending process stored. */
export type StoredReasons = {
  readonly store: string
  /** Number of waiting transactions, the reason of the first one, and the number per reason. */
  readonly count: number
  readonly waiting: LaneSnapshot['waiting']
  /** Why the lane reserves no nonces, with the cause and the remedy, as far as transactions wait for that. */
  readonly holds: readonly { readonly reason: HoldReason; readonly detail: string | undefined }[]
  /** The first transactions with a stored reason, or that wait for an operator. Others wait behind them. */
  readonly transactions: readonly StoredReason[]
}

type StoredReason = {
  readonly id: string
  readonly stage: Stage
  readonly nonce: number | undefined
  readonly hash: Hash | undefined
  readonly waitingFor: WaitReason
}

const UNSEALED: readonly Stage[] = ['queued', 'signed', 'accepted', 'preconfirmed']
const SHOWN_MAX = 8

export async function storedReasons(
  store: Store,
  { connection, address, name }: { connection: Connection; address: Address; name: string },
): Promise<StoredReasons> {
  const unsealed: StoredTransaction[] = []
  for (const stage of UNSEALED)
    for await (const one of storedTransactions(store, connection, address, stage)) unsealed.push(one)
  return reasonsIn(name, unsealed)
}

export function reasonsIn(store: string, stored: readonly StoredTransaction[]): StoredReasons {
  const all = stored.map((one) => fromStored(one)).map((one) => [one, storedReason(one)] as const)
  const holds = new Map<HoldReason, string | undefined>()
  const explained = all.flatMap(([{ id, stage, nonce, hash, sequence, record }, waitingFor]) =>
    waitingFor === undefined || !(waitingFor === record.waiting || waitingFor.operator)
      ? []
      : [{ id, stage, nonce, hash, waitingFor, sequence }],
  )
  for (const { waitingFor } of explained)
    if (waitingFor.for === 'hold')
      for (const reason of waitingFor.holds) holds.set(reason, waitingFor.details?.[reason])
  return {
    store,
    count: all.length,
    waiting: summaryOf(all),
    holds: [...holds].map(([reason, detail]) => ({ reason, detail })),
    transactions: explained
      .sort((a, b) => order(a) - order(b) || a.sequence - b.sequence)
      .slice(0, SHOWN_MAX)
      .map(({ sequence: _, ...one }) => one),
  }
}

const order = ({ nonce }: { readonly nonce: number | undefined }) => nonce ?? Number.MAX_SAFE_INTEGER

/** Whether only an operator can end one of the waits. */
export function needsPerson({ transactions, waiting }: StoredReasons): boolean {
  return waiting.head?.operator === true || transactions.some(({ waitingFor }) => waitingFor.operator)
}

export function storedText({ store, count, waiting, holds, transactions }: StoredReasons): string {
  if (count === 0) return `\nNo transaction waits in ${store}.\n`
  const by = Object.entries(waiting.by).map(([reason, amount]) => `${reason} ${amount}`)
  const { head } = waiting
  const shown =
    transactions.length > 0 || head === undefined
      ? transactions
      : [{ ...head, stage: undefined, waitingFor: head }]
  return wrapped(
    [
      `\n${count.toLocaleString('en')} in ${store} wait for: ${by.join(', ')}\n`,
      ...holds.map(({ reason, detail }) => `Held: ${reason}${detail === undefined ? '' : `. ${detail}`}\n`),
      ...shown.map(
        ({ id, stage, waitingFor }) =>
          `  ${id}${stage === undefined ? '' : ` (${stage})`}: ${waitingFor.sentence} Since ${new Date(waitingFor.sinceMs).toISOString()}.\n`,
      ),
    ].join(''),
  )
}
