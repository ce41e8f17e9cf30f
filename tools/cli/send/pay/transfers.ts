import { type Address, type Client, erc20Abi, type Hash, type Hex, size, toEventSelector } from 'viem'
import { call, getLogs, readContract } from 'viem/actions'
import { exactAmount } from '../file/amountText.js'
import type { Money, Row } from '../file/rows.js'

/** The meaning of a successful receipt for a row. A token may report success and move nothing, or less. */
export type Verdict =
  | { readonly status: 'paid'; readonly received?: undefined; readonly error?: undefined }
  | { readonly status: 'partial'; readonly received: bigint; readonly error: string }
  | { readonly status: 'unmoved' | 'open'; readonly received?: undefined; readonly error: string }

export type Receipt = {
  readonly transactionHash: Hash
  readonly blockNumber: bigint
  readonly logs: readonly Log[]
}
type Log = { readonly address: Address; readonly topics: readonly Hex[]; readonly data: Hex }

/** Whether tokens move. */
export type Transfers = {
  /** Judges rows of one transaction that succeeded. `receipt` is undefined if no node shows it. */
  verdicts(rows: readonly Row[], receipt: Receipt | undefined): Promise<readonly Verdict[]>
  /** Whether the token answers `false` to the row: it would not revert, and pay nothing. */
  answersFalse(row: Row): Promise<boolean>
}

type Token = Extract<Money, { readonly kind: 'token' }>

const PAID: Verdict = { status: 'paid' }

/** Names a row in a transaction that moved nothing for it. */
export const unmovedKey = (id: string, hash: Hash): string => `${id} ${hash}`

/**
 * A row of a token is paid if the token's `Transfer` event shows it. Without the event the balance of the
 * recipient decides, because a token without events may pay all the same. `known`: rows that an earlier run
 * found unmoved, as `unmovedKey`; its node may no longer have the balances.
 */
export function createTransfers(client: Client, account: Address, known: ReadonlySet<string>): Transfers {
  async function verdicts(rows: readonly Row[], receipt: Receipt | undefined): Promise<readonly Verdict[]> {
    if (rows.every(({ money }) => money.kind === 'native')) return rows.map(() => PAID)
    const left = receipt === undefined ? [] : transfersIn(receipt)
    const take = (test: (transfer: Transfer) => boolean): Transfer | undefined => {
      const at = left.findIndex(test)
      return at < 0 ? undefined : left.splice(at, 1)[0]
    }
    const silent: { readonly at: number; readonly row: Row; readonly token: Token }[] = []
    const found = rows.map((row, at): Verdict => {
      const { money, amount } = row
      if (money.kind === 'native' || amount === 0n) return PAID
      const isFor = ({ token, from, to }: Transfer) =>
        isSame(token, money.address) && isSame(from, account) && isSame(to, row.to)
      const moved = take((each) => isFor(each) && each.amount === amount) ?? take(isFor)
      if (moved === undefined) silent.push({ at, row, token: money })
      if (moved === undefined || moved.amount === amount) return PAID
      return {
        status: 'partial',
        received: moved.amount,
        error: `OTHER_AMOUNT: The recipient got ${exactAmount(moved.amount, money)} of ${exactAmount(amount, money)}, as the token reports: it keeps a part of each transfer.`,
      }
    })
    for (const { at, row, token } of silent) {
      const same = silent.filter(
        (each) => isSame(each.token.address, token.address) && isSame(each.row.to, row.to),
      )
      const due = same.reduce((sum, each) => sum + each.row.amount, 0n)
      found[at] =
        receipt !== undefined && known.has(unmovedKey(row.id, receipt.transactionHash))
          ? UNMOVED
          : await byBalance(client, row, token, due, receipt)
    }
    return found
  }

  return { verdicts, answersFalse: (row) => answersFalse(client, account, row) }
}

const UNMOVED: Verdict = {
  status: 'unmoved',
  error:
    'NO_TRANSFER: Not paid: the token reported no transfer, and the recipient has no more of it than before.',
}

/** Compares the balances before and after the block, without the transfers that the token reports. */
async function byBalance(
  client: Client,
  { to }: Row,
  { address, symbol }: Token,
  due: bigint,
  receipt: Receipt | undefined,
): Promise<Verdict> {
  if (receipt === undefined)
    return {
      status: 'open',
      error: 'NO_RECEIPT: No node shows the receipt, which says whether the token moved.',
    }
  const { blockNumber } = receipt
  const balanceAt = (block: bigint) =>
    readContract(client, {
      address,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [to],
      blockNumber: block,
    })
  try {
    const [before, after, logs] = await Promise.all([
      balanceAt(blockNumber - 1n),
      balanceAt(blockNumber),
      getLogs(client, { address, fromBlock: blockNumber, toBlock: blockNumber }),
    ])
    const gain = after - before - reportedGain(transfersIn({ logs }), to)
    if (gain === due) return PAID
    if (gain === 0n) return UNMOVED
  } catch {}
  return {
    status: 'open',
    error: `NO_TRANSFER: The token reported no transfer, and the balances around block ${blockNumber} do not show whether the recipient got it. Compare the ${symbol} balances of the recipient in an explorer, or run again with an archive node.`,
  }
}

type Transfer = { readonly token: Address; readonly from: Hex; readonly to: Hex; readonly amount: bigint }

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const WORD_CHARS = 64
const ADDRESS_CHARS = 40

/** The `Transfer` events. Old tokens do not index their parts alike: the parts are in the same order everywhere. */
function transfersIn({ logs }: Pick<Receipt, 'logs'>): Transfer[] {
  return logs.flatMap(({ address: token, topics: [selector, ...indexed], data }) => {
    const words = [...indexed, data].map((hex) => hex.slice(2)).join('')
    if (selector !== TRANSFER || words.length !== 3 * WORD_CHARS) return []
    const [from = '', to = '', amount = ''] = [0, 1, 2].map((at) =>
      words.slice(at * WORD_CHARS, (at + 1) * WORD_CHARS),
    )
    return [{ token, from: addressIn(from), to: addressIn(to), amount: BigInt(`0x${amount}`) }]
  })
}

function reportedGain(transfers: readonly Transfer[], to: Address): bigint {
  const sum = (by: 'from' | 'to') =>
    transfers.reduce((all, each) => (isSame(each[by], to) ? all + each.amount : all), 0n)
  return sum('to') - sum('from')
}

const addressIn = (word: string): Hex => `0x${word.slice(-ADDRESS_CHARS)}`
const isSame = (a: Hex, b: Hex): boolean => a.toLowerCase() === b.toLowerCase()

/** See `Transfers`. A failed call says nothing: the gas estimate reports it. */
export async function answersFalse(
  client: Client,
  account: Address,
  { money, request }: Row,
): Promise<boolean> {
  if (money.kind === 'native') return false
  const { data } = await call(client, { account, ...request }).catch(() => ({ data: undefined }))
  return data !== undefined && size(data) === 32 && BigInt(data) === 0n
}

export const ANSWERS_FALSE = 'The token refuses the transfer: it answers false.'
