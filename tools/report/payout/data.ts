import type { Address, Hash } from 'viem'
import type { PayoutLine, PayoutReport } from './payout.js'
import { cut } from './text.js'

/**
 * The lines for the page's script. Arrays, and a list of each text that repeats, keep a line near 200 bytes.
 * A bigint is a decimal text; a missing value is 0 or ''.
 */
export type PayoutData = {
  readonly chain: PayoutReport['chain']
  readonly money: readonly (readonly [symbol: string, decimals: number, token: Address | ''])[]
  readonly statuses: readonly PayoutLine['status'][]
  /** Names, notes and errors. The first is empty. */
  readonly texts: readonly string[]
  /** The time is in seconds. */
  readonly transactions: readonly (readonly [hash: Hash, block: string, time: number, lines: number])[]
  readonly lines: readonly PackedLine[]
}

type PackedLine = readonly [
  line: number,
  id: string,
  to: Address,
  amount: string,
  money: number,
  status: number,
  /** The number of the transaction, from 1; 0 without a transaction. */
  transaction: number,
  fee: string,
  name: number,
  note: number,
  error: number,
  /** The amount that the recipient got; empty if it is the amount of the line, or nothing. */
  received: string,
]

/** A search finds the beginning of a longer text. */
const TEXT_MAX = 2_000

export function packLines({ chain, lines }: PayoutReport): PayoutData {
  const money = numbered<PayoutLine['money'], PayoutData['money'][number]>(({ symbol, decimals, token }) => [
    symbol,
    decimals,
    token ?? '',
  ])
  const statuses = numbered<PayoutLine['status'], PayoutLine['status']>((status) => status)
  const texts = numbered<string, string>((text) => cut(text, TEXT_MAX))
  texts.of('')
  const transactions = numbered<PayoutLine, PayoutData['transactions'][number]>(
    ({ hash = '0x', block = '', time, sharedBy = 1 }) => [hash, String(block), secondsOf(time), sharedBy],
  )
  const packed = lines.map((line): PackedLine => {
    const { hash, name = '', note = '', error = '' } = line
    return [
      line.line,
      cut(line.id, TEXT_MAX),
      line.to,
      String(line.amount),
      money.of(line.money),
      statuses.of(line.status),
      hash === undefined ? 0 : transactions.of(line) + 1,
      line.feeWei === undefined ? '' : String(line.feeWei),
      texts.of(name),
      texts.of(note),
      texts.of(error),
      line.received === undefined ? '' : String(line.received),
    ]
  })
  return {
    chain,
    money: money.all,
    statuses: statuses.all,
    texts: texts.all,
    transactions: transactions.all,
    lines: packed,
  }
}

const secondsOf = (time: string | undefined): number => Math.floor(Date.parse(time ?? '') / 1_000) || 0

/** Numbers the different packed forms of items. */
function numbered<item, packed>(
  pack: (item: item) => packed,
): {
  readonly all: readonly packed[]
  of(item: item): number
} {
  const all: packed[] = []
  const known = new Map<string, number>()
  return {
    all,
    of(item) {
      const form = pack(item)
      const key = JSON.stringify(form)
      const index = known.get(key) ?? all.push(form) - 1
      known.set(key, index)
      return index
    },
  }
}

export function unpackLines(data: PayoutData): readonly PayoutLine[] {
  const money = data.money.map(([symbol, decimals, token]) => ({
    symbol,
    decimals,
    token: token === '' ? undefined : token,
  }))
  const some = (text: number) => data.texts[text] || undefined
  return data.lines.map((packed) => {
    const [line, id, to, amount, currency, status, transaction, fee, name, note, error, received] = packed
    const [hash, block, time = 0, sharedBy] = data.transactions[transaction - 1] ?? []
    return {
      line,
      id,
      to,
      amount: BigInt(amount),
      money: money[currency] as PayoutLine['money'],
      status: data.statuses[status] as PayoutLine['status'],
      hash,
      block: block ? BigInt(block) : undefined,
      time: time === 0 ? undefined : new Date(time * 1_000).toISOString(),
      sharedBy,
      feeWei: fee === '' ? undefined : BigInt(fee),
      name: some(name),
      note: some(note),
      error: some(error),
      ...(received === '' ? {} : { received: BigInt(received) }),
    }
  })
}
