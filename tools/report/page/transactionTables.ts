import { duration, number } from '../model/words.js'
import { type Data, nonceOf, type Transaction, type Unfinished } from './data.js'
import { button, element, opening } from './dom.js'
import { outcomeText } from './history.js'
import { laneText } from './names.js'
import { type Column, table } from './table.js'
import { time } from './time.js'

export type Choose = (transaction: Transaction) => void

/** A button that opens the history; the nonce stands below the id. */
export function transactionCell(
  transaction: Transaction,
  choose: Choose,
  nonce = nonceOf(transaction),
): Node {
  const open = button(transaction.id, 'link', () => choose(transaction))
  const below = nonce === undefined ? 'no nonce' : `nonce ${nonce}`
  return element('span', {}, open, ' ', element('span', { class: 'count nowrap' }, below))
}

/** The lane, if the recording has several. */
export function laneColumn<row>(data: Data, of: (row: row) => number): readonly Column<row>[] {
  const text = (row: row) => laneText(data.lanes[of(row)])
  return data.lanes.length > 1 ? [{ name: 'lane', class: 'wide', by: text, cell: text }] : []
}

/** The transactions that are stuck or in progress at the end, each with its reason. Undefined if there are none. */
export function unfinishedTable(data: Data, choose: Choose): Node | undefined {
  const { unfinished, unfinishedInAll, endedAt } = data
  if (unfinished.length === 0) return undefined
  const some =
    unfinished.length < unfinishedInAll
      ? ` The page has the first ${number(unfinished.length)} of ${number(unfinishedInAll)}.`
      : ''
  const words = `The recording ends on ${time(endedAt)} UTC without an end of these transactions.${some}`
  return element(
    'div',
    {},
    element('p', { class: 'hint' }, words),
    table<Unfinished>({
      caption: 'Transactions that are not finished',
      rows: unfinished,
      first: 20,
      columns: [
        {
          name: 'transaction',
          class: 'name',
          by: ({ transaction }) => nonceOf(transaction) ?? Number.POSITIVE_INFINITY,
          cell: ({ transaction }) => transactionCell(transaction, choose),
        },
        { name: 'why', class: 'name', by: ({ why }) => why, cell: ({ why }) => why },
        ...laneColumn<Unfinished>(data, ({ transaction }) => transaction.lane),
        { name: 'stage', class: 'wide', by: ({ stage }) => stage, cell: ({ stage }) => stage },
        {
          name: 'since, UTC',
          class: 'time wide',
          by: ({ since }) => since,
          cell: ({ since }) => time(since),
        },
        {
          name: 'for',
          class: 'number',
          by: ({ since }) => endedAt - since,
          cell: ({ since }) => duration(Math.max(0, endedAt - since)),
        },
      ],
    }),
  )
}

/** All transactions of the page, as the text alternative of the chart. */
export function allTransactions(data: Data, choose: Choose): Node {
  const { transactions } = data
  const ended = ({ entries }: Transaction) =>
    entries.findLast(({ event }) => ['sealed', 'failed', 'cancelled', 'superseded'].includes(event))?.at
  const took = (transaction: Transaction) => {
    const [from, to] = [transaction.entries[0]?.at, ended(transaction)]
    return from === undefined || to === undefined || to < from ? undefined : to - from
  }
  const ordered = transactions.toSorted(
    (a, b) =>
      a.lane - b.lane || (nonceOf(a) ?? Number.POSITIVE_INFINITY) - (nonceOf(b) ?? Number.POSITIVE_INFINITY),
  )
  const count =
    transactions.length === 1 ? 'The transaction' : `All ${number(transactions.length)} transactions`
  return opening([`${count} as a table`], () =>
    table<Transaction>({
      caption: 'All transactions',
      rows: ordered,
      columns: [
        {
          name: 'nonce',
          class: 'number',
          by: (transaction) => nonceOf(transaction) ?? -1,
          cell: (transaction) => nonceOf(transaction) ?? 'none',
        },
        {
          name: 'transaction',
          class: 'name',
          by: ({ id }) => id,
          cell: (transaction) => button(transaction.id, 'link', () => choose(transaction)),
        },
        ...laneColumn<Transaction>(data, ({ lane }) => lane),
        {
          name: 'result',
          class: '',
          by: ({ outcome }) => outcome,
          cell: ({ outcome }) => outcomeText(outcome),
        },
        {
          name: 'first event, UTC',
          class: 'time wide',
          by: ({ entries }) => entries[0]?.at ?? 0,
          cell: ({ entries }) => (entries[0] ? time(entries[0].at) : ''),
        },
        {
          name: 'took',
          class: 'number',
          by: (transaction) => took(transaction) ?? -1,
          cell: (transaction) => {
            const ms = took(transaction)
            return ms === undefined ? '' : duration(ms)
          },
        },
      ],
    }),
  )
}
