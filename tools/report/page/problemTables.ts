import { duration, number } from '../model/words.js'
import type { Data, Problem, Transaction } from './data.js'
import { button, type Child, element } from './dom.js'
import { after, clockTime, day } from './time.js'

const ROWS_AT_ONCE = 100

type Column = {
  readonly name: string
  readonly class: string
  /** Sort key of the column. */
  readonly by: (problem: Problem) => number | string
  readonly cell: (problem: Problem) => Child
}

export type ProblemTables = { readonly groups: Node; readonly rows: Node }

/**
 * The kinds with the number of each end state, and below them each problem. Clicking a kind filters the list.
 */
export function problemTables(data: Data, choose: (transaction: Transaction) => void): ProblemTables {
  if (data.problems.length === 0) {
    return { groups: element('p', { class: 'empty' }, 'There was no problem.'), rows: element('div') }
  }
  const columns = columnsOf(data, choose)
  const rows = element('div')
  let kind: string | undefined
  let sorted = { column: 0, isUp: true }
  let count = ROWS_AT_ONCE

  function draw(): void {
    const by = columns[sorted.column]?.by ?? (() => 0)
    const all = data.problems
      .filter((problem) => kind === undefined || problem.kind.name === kind)
      .toSorted((a, b) => compare(by(a), by(b)) * (sorted.isUp ? 1 : -1))
    rows.replaceChildren(heading(), tableOf(all.slice(0, count)), ...more(all.length))
  }

  function heading(): Node {
    const shownAll = data.problems.length === data.problemsInAll
    const of = shownAll
      ? ''
      : ` The page shows ${number(data.problems.length)} of ${number(data.problemsInAll)}.`
    const only = kind === undefined ? 'All problems.' : `Only ${kind}.`
    const all = kind === undefined ? undefined : button('Show all kinds', 'link', () => pick(undefined))
    return element('p', { class: 'hint' }, `${only}${of} `, all)
  }

  function pick(next: string | undefined): void {
    kind = next
    count = ROWS_AT_ONCE
    draw()
  }

  function tableOf(problems: readonly Problem[]): Node {
    const heads = columns.map(({ name, class: of }, index) => {
      const isSorted = sorted.column === index
      const sort = button(name, '', () => {
        sorted = { column: index, isUp: isSorted ? !sorted.isUp : true }
        draw()
      })
      const order = isSorted ? (sorted.isUp ? 'ascending' : 'descending') : 'none'
      return element('th', { scope: 'col', class: of, 'aria-sort': order }, sort)
    })
    const lines = problems.map((problem) =>
      element(
        'tr',
        {},
        ...columns.map((column) => element('td', { class: column.class }, column.cell(problem))),
      ),
    )
    return element(
      'div',
      { class: 'scroll' },
      element(
        'table',
        { id: 'problem-table' },
        element('thead', {}, element('tr', {}, ...heads)),
        element('tbody', {}, ...lines),
      ),
    )
  }

  function more(all: number): Node[] {
    if (all <= count) return []
    const show = button(`Show ${number(Math.min(ROWS_AT_ONCE, all - count))} more`, '', () => {
      count += ROWS_AT_ONCE
      draw()
    })
    return [
      element('p', {}, show, element('span', { class: 'count' }, ` ${number(count)} of ${number(all)}`)),
    ]
  }

  draw()
  return { groups: groupTable(data, pick), rows }
}

function compare(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
}

function columnsOf(data: Data, choose: (transaction: Transaction) => void): readonly Column[] {
  return [
    {
      name: 'time',
      class: 'time',
      by: ({ at }) => at,
      cell: ({ at }) =>
        element('span', { title: `${day(at)}, ${after(at - data.startedAt)}` }, clockTime(at)),
    },
    { name: 'kind', class: '', by: ({ kind }) => kind.name, cell: ({ kind }) => kind.name },
    {
      name: 'nonce',
      class: 'number',
      by: ({ nonce }) => nonce ?? -1,
      cell: ({ nonce }) => nonce ?? '',
    },
    {
      name: 'transaction',
      class: 'name',
      by: ({ transaction }) => transaction?.id ?? '',
      cell: ({ transaction }) =>
        transaction === undefined ? undefined : button(transaction.id, 'link', () => choose(transaction)),
    },
    {
      name: 'problem',
      class: 'name',
      by: ({ what }) => what,
      cell: ({ what, times }) => (times > 1 ? `${what} (${number(times)} times)` : what),
    },
    {
      name: 'how it ended',
      class: 'name',
      by: ({ state, endedAt, at }) => (endedAt === undefined ? `${state}` : endedAt - at),
      cell: ({ ended, endedAt, at, state }) => {
        const lasted = endedAt === undefined || endedAt === at ? '' : `, after ${duration(endedAt - at)}`
        return element('span', { class: `state-${state}` }, `${ended}${lasted}`)
      },
    },
  ]
}

function groupTable({ groups, kinds }: Data, pick: (kind: string) => void): Node {
  const names = ['kind', 'what it means', 'cases', 'times', 'mended', 'ended', 'reported', 'open']
  const head = names.map((name, index) =>
    element('th', { scope: 'col', class: index === 1 ? 'wide' : index > 1 ? 'number' : '' }, name),
  )
  const rows = groups.map(({ kind, rows: cases, times, states }) => {
    const count = (value: number, className = 'number') =>
      element('td', { class: className }, value === 0 ? '' : number(value))
    return element(
      'tr',
      {},
      element(
        'th',
        { scope: 'row' },
        button(kind, 'link', () => pick(kind)),
      ),
      element('td', { class: 'wide' }, kinds.find(({ name }) => name === kind)?.what),
      count(cases),
      count(times),
      count(states.mended),
      count(states.ended),
      count(states.reported),
      count(states.open, states.open > 0 ? 'number state-open' : 'number'),
    )
  })
  const caption =
    'States: mended: the normal state is restored; ended: the transaction ended; reported: no further event is expected; open: no later event was recorded.'
  // Above the table, because text inside it would widen the table.
  const words = element('p', { class: 'hint', id: 'group-words' }, caption)
  const table = element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      { id: 'group-table', 'aria-describedby': 'group-words' },
      element('thead', {}, element('tr', {}, ...head)),
      element('tbody', {}, ...rows),
    ),
  )
  return element('div', {}, words, table)
}
