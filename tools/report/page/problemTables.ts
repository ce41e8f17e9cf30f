import type { ProblemRole, ProblemState } from '../model/problem.js'
import { counted, duration, number } from '../model/words.js'
import type { Data, Problem } from './data.js'
import { element, opening } from './dom.js'
import { type Column, table } from './table.js'
import { time } from './time.js'
import { type Choose, laneColumn, transactionCell } from './transactionTables.js'

const FIRST_ROWS = 10

const EMPTY: Readonly<Record<ProblemRole, string>> = {
  fault: 'Nothing went wrong.',
  repair: 'Nothing had to be sent again, and no nonce had to be filled.',
  asked: 'The caller did not cancel, replace, abort or pause anything.',
}

/** The kinds of one role, the most serious first. Each opens to its cases. */
export function problemTables(data: Data, role: ProblemRole, choose: Choose): Node {
  const kinds = new Map(data.kinds.map((kind) => [kind.name, kind]))
  const groups = data.groups.filter(({ kind }) => kinds.get(kind)?.role === role)
  if (groups.length === 0) return element('p', { class: 'hint' }, EMPTY[role])
  const parts = groups.map((group, index) => {
    const { kind, states } = group
    const isOpen = states.open > 0 || (role === 'fault' && index === 0)
    const summary = [
      element('strong', {}, kind),
      element('span', { class: 'what' }, kinds.get(kind)?.what),
      element('span', { class: states.open > 0 ? 'cases state-open' : 'cases' }, casesText(group)),
    ]
    const make = () => casesTable(data, kind, group.rows, choose)
    return opening(summary, make, { open: isOpen, class: 'kind', 'data-kind': kind })
  })
  return element('div', {}, ...parts)
}

const STATES: Readonly<Record<ProblemState, string>> = {
  open: 'still open',
  ended: 'final',
  reported: 'noted',
  mended: 'repaired',
}

/** `27 cases, all repaired`, or `3 cases in 5 events: 1 still open, 2 repaired`. */
export function casesText({ rows, times, states }: Data['groups'][number]): string {
  const cases = `${counted(rows, 'case')}${times === rows ? '' : ` in ${counted(times, 'event')}`}`
  const parts = (Object.keys(STATES) as ProblemState[]).filter((state) => states[state] > 0)
  const [only] = parts
  if (parts.length === 1 && only !== undefined) {
    const all = rows === 1 ? '' : rows === 2 ? 'both ' : 'all '
    return `${cases}, ${all}${STATES[only]}`
  }
  return `${cases}: ${parts.map((state) => `${number(states[state])} ${STATES[state]}`).join(', ')}`
}

function casesTable(data: Data, kind: string, inAll: number, choose: Choose): Node {
  const rows = data.problems
    .filter((problem) => problem.kind.name === kind)
    // Cases without an end are first.
    .toSorted((a, b) => Number(b.state === 'open') - Number(a.state === 'open'))
  const some =
    rows.length < inAll
      ? element(
          'p',
          { class: 'hint' },
          `The page has ${number(rows.length)} of these ${number(inAll)} cases.`,
        )
      : undefined
  const made = table({
    caption: `Cases of ${kind}`,
    columns: columnsOf(data, rows, choose),
    rows,
    first: FIRST_ROWS,
  })
  return element('div', {}, ...[some, made].filter((node) => node !== undefined))
}

/** The text of the case without the description of its kind, which is above the table. */
function ownText({ what, kind, times }: Problem): string {
  const own = what.startsWith(kind.what) ? what.slice(kind.what.length).replace(/^: /, '') : what
  const often = times > 1 ? `${number(times)} times` : ''
  return [own, often].filter((part) => part !== '').join(', ')
}

function columnsOf(data: Data, rows: readonly Problem[], choose: Choose): readonly Column<Problem>[] {
  const hasOwnText = rows.some((problem) => ownText(problem) !== '')
  const hasPlace = rows.some(({ transaction, nonce }) => transaction !== undefined || nonce !== undefined)
  const place: readonly Column<Problem>[] = [
    {
      name: 'transaction',
      class: 'name',
      by: ({ nonce, transaction }) => nonce ?? transaction?.index ?? -1,
      cell: ({ transaction, nonce }) =>
        transaction === undefined
          ? nonce === undefined
            ? ''
            : `nonce ${nonce}`
          : transactionCell(transaction, choose, nonce),
    },
  ]
  const happened: Column<Problem> = {
    name: 'detail',
    class: 'name',
    by: ownText,
    cell: (problem) => ownText(problem),
  }
  return [
    { name: 'time, UTC', class: 'time wide', by: ({ at }) => at, cell: ({ at }) => time(at) },
    ...(hasPlace ? place : []),
    ...laneColumn<Problem>(data, ({ lane }) => lane),
    ...(hasOwnText ? [happened] : []),
    {
      name: 'how it ended',
      class: 'name',
      by: ({ state, endedAt, at }) => (endedAt === undefined ? state : endedAt - at),
      cell: ({ ended, endedAt, at, state }) => {
        const lasted = endedAt === undefined || endedAt === at ? '' : `, after ${duration(endedAt - at)}`
        return element('span', { class: `state-${state}` }, `${ended}${lasted}`)
      },
    },
  ]
}
