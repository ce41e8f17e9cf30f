import type uPlot from 'uplot'
import { type Data, nonceOf, type Transaction } from './data.js'
import { byId } from './dom.js'
import { historySketch } from './history.js'
import { lifeOf, type NonceChart } from './nonceView.js'
import { hideTip, showTip } from './tip.js'

export const KEYS =
  'Arrows left and right move in time, plus and minus zoom, 0 shows all, arrows up and down select a transaction, Enter opens it.'

type Parts = {
  readonly place: HTMLElement
  readonly u: uPlot
  readonly data: Data
  readonly chart: Pick<NonceChart, 'zoom' | 'pan' | 'showAll' | 'select'>
  readonly rows: () => readonly Transaction[]
  readonly selected: () => Transaction | undefined
  readonly choose: (transaction: Transaction) => void
}

/** The keys of the chart. */
export function followKeys({ place, u, data, chart, rows, selected, choose }: Parts): void {
  place.tabIndex = 0
  place.setAttribute('role', 'group')
  place.setAttribute('aria-label', `Chart of nonces over time. ${KEYS}`)

  function step(by: 1 | -1): void {
    const ordered = rows().toSorted((a, b) => (nonceOf(a) ?? 0) - (nonceOf(b) ?? 0))
    const current = selected()
    const at = current === undefined ? -1 : ordered.indexOf(current)
    const next = ordered[at < 0 ? (by > 0 ? 0 : ordered.length - 1) : at + by]
    if (next === undefined) return
    chart.select(next)
    const { left, top } = u.over.getBoundingClientRect()
    const x = u.valToPos(lifeOf(next, data).to, 'x')
    showTip(
      historySketch(next, data),
      left + Math.min(x, u.over.clientWidth),
      top + u.valToPos(nonceOf(next) ?? 0, 'y'),
    )
    const status = byId('status')
    if (status) status.textContent = `Nonce ${nonceOf(next)}, transaction ${next.id}, ${next.outcome}.`
  }

  const actions: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => chart.pan(-0.25),
    ArrowRight: () => chart.pan(0.25),
    '+': () => chart.zoom(0.5),
    '=': () => chart.zoom(0.5),
    '-': () => chart.zoom(2),
    '0': chart.showAll,
    ArrowUp: () => step(1),
    ArrowDown: () => step(-1),
    Enter: () => {
      const transaction = selected()
      if (transaction) choose(transaction)
    },
    Escape: () => chart.select(undefined),
  }
  place.addEventListener('keydown', (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key]
    if (act === undefined) return
    event.preventDefault()
    hideTip()
    act()
  })
  place.addEventListener('blur', hideTip)
}
