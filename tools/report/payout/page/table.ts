import { counted, number } from '../../model/words.js'
import { moneyKey, totalsOf } from '../facts.js'
import type { PayoutLine } from '../payout.js'
import type { Column } from '../row.js'
import { folded } from '../text.js'
import { amountText, OUTCOMES, type Outcome, STATUSES } from '../words.js'

/** The choice of lines and their order. */
export type View = {
  readonly text: string
  readonly outcome: Outcome | undefined
  readonly column: Column
  readonly descending: boolean
}

export type Lines = {
  readonly all: readonly PayoutLine[]
  /** The lines of the view, in its order. */
  select(view: View): readonly PayoutLine[]
}

export function createLines(all: readonly PayoutLine[]): Lines {
  // Made at the first search: half a second for 200,000 lines.
  let texts: readonly string[] | undefined
  const currencies = new Map<string, number>()
  for (const { money } of all) {
    const key = moneyKey(money)
    if (!currencies.has(key)) currencies.set(key, currencies.size)
  }
  const currencyOf = ({ money }: PayoutLine) => currencies.get(moneyKey(money)) ?? 0

  return {
    all,
    select({ text, outcome, column, descending }) {
      const words = folded(text).split(/\s+/).filter(Boolean)
      if (words.length > 0) texts ??= all.map(searchText)
      const chosen = all.filter(
        (line, index) =>
          (outcome === undefined || STATUSES[line.status].outcome === outcome) &&
          words.every((word) => texts?.[index]?.includes(word)),
      )
      // The order of the file.
      if (column === 'line' && !descending) return chosen
      return sorted(chosen, ORDERS[column], descending, column === 'amount' ? currencyOf : () => 0)
    },
  }
}

function searchText({
  line,
  id,
  to,
  name,
  note,
  amount,
  money,
  status,
  hash,
  block,
  time,
  error,
}: PayoutLine): string {
  const sum = amountText(amount, money)
  const parts = [
    line,
    id,
    to,
    name,
    note,
    sum,
    sum.replaceAll(',', ''),
    money.symbol,
    hash,
    block,
    time,
    error,
  ]
  const { outcome, word } = STATUSES[status]
  return folded([...parts, OUTCOMES[outcome], word].filter((part) => part !== undefined).join('\n'))
}

type Key = bigint | number | string | undefined

const URGENCY = Object.keys(STATUSES)

/** The value by which a column sorts. */
const ORDERS: Readonly<Record<Column, (line: PayoutLine) => Key>> = {
  line: ({ line }) => line,
  to: ({ name, to }) => folded(name ?? to),
  for: ({ note, id }) => folded(note ?? id),
  amount: ({ amount }) => amount,
  status: ({ status }) => URGENCY.indexOf(status),
  time: ({ time }) => time,
  tx: ({ block, hash }) => block ?? hash,
  fee: ({ feeWei }) => feeWei,
}

/** Stable; lines without a value are last in both directions. Amounts of different currencies are not compared. */
function sorted(
  lines: readonly PayoutLine[],
  keyOf: (line: PayoutLine) => Key,
  descending: boolean,
  groupOf: (line: PayoutLine) => number,
): readonly PayoutLine[] {
  const sign = descending ? -1 : 1
  return lines
    .map((line) => ({ line, key: keyOf(line), group: groupOf(line) }))
    .sort((a, b) => {
      if (a.group !== b.group) return a.group - b.group
      if (a.key === b.key) return 0
      if (a.key === undefined) return 1
      if (b.key === undefined) return -1
      return a.key < b.key ? -sign : sign
    })
    .map(({ line }) => line)
}

/** The summary of the view: the number of lines, and the amounts that they paid. */
export function foundText(found: readonly PayoutLine[], total: number, view: View): string {
  const isAll = view.text.trim() === '' && view.outcome === undefined
  if (isAll) return `${counted(total, 'line')}.`
  if (found.length === 0) {
    const quoted = view.text.trim() === '' ? 'of this kind' : `with “${view.text.trim()}”`
    const among = view.outcome === undefined || view.text.trim() === '' ? '' : ' among the chosen ones'
    return `There is no line ${quoted}${among}.`
  }
  const sums = totalsOf(found)
    .filter(({ sums }) => sums.paid.lines > 0)
    .map(({ money, sums }) => `${amountText(sums.paid.amount, money)} ${money.symbol}`)
  const paid = sums.length === 0 ? 'nothing of them is paid' : `paid in them: ${sums.join(', ')}`
  return `${number(found.length)} of ${counted(total, 'line')}; ${paid}.`
}
