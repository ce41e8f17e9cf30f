import { number } from '../model/words.js'
import { type Data, nonceOf, type Problem, type Transaction } from './data.js'
import { followFingers } from './fingers.js'
import { followKeys, KEYS } from './keys.js'
import { legend } from './legend.js'
import { LEGEND, paintNonces } from './noncePaint.js'
import { rowsInView } from './nonceSeries.js'
import {
  busiestLane,
  lifeOf,
  type NonceChart,
  nonceBounds,
  noncesAround,
  panned,
  type Span,
  spanAround,
  wholeSpan,
  zoomed,
} from './nonceView.js'
import { COUNT_STEPS, countAxis, createPlot, type Plot, timeAxis } from './plot.js'
import { followPointer } from './pointer.js'

/**
 * Nonces over time. Only the visible range is drawn, so that the chart is fast with any number of
 * transactions.
 */
export function createNonceChart(
  place: HTMLElement,
  data: Data,
  choose: (transaction: Transaction) => void,
): NonceChart {
  const whole = wholeSpan(data)
  const marked = new Set(data.problems.flatMap(({ transaction }) => transaction ?? []))
  let lane = busiestLane(data)
  let span = whole
  /** The nonces around a transaction that was found; otherwise those of the visible time. */
  let nonces: Span | undefined
  let selected: Transaction | undefined
  let hidden: ReadonlySet<string> = new Set()
  let rows: readonly Transaction[] = []
  let problems: readonly Problem[] = []

  const plot: Plot = createPlot(place, {
    name: nameOf(data),
    scales: {
      x: { time: false, auto: false, min: span.from, max: span.to },
      y: { auto: false, min: 0, max: 1 },
    },
    series: [{}, { paths: () => null, points: { show: false } }],
    axes: [timeAxis(), { ...countAxis('Nonce'), incrs: COUNT_STEPS }],
    data: [
      [whole.from, whole.to],
      [null, null],
    ],
    paint: (u, colours) => paintNonces(u, data, { rows, problems, selected, hidden }, colours),
    cursor: { drag: { x: true, y: false, setScale: false, dist: 5 } },
  })
  const { u } = plot

  function show(next: Span, nextNonces?: Span): void {
    span = next
    nonces = nextNonces
    const isShown = (transaction: Transaction) => isWithin(transaction, span, nonces, data)
    const inView = data.transactions.filter(
      (transaction) => transaction.lane === lane && isShown(transaction),
    )
    rows = rowsInView(inView, marked)
    problems = data.problems.filter(
      ({ at, endedAt, lane: of }) => (of === lane || of < 0) && at <= span.to && (endedAt ?? at) >= span.from,
    )
    // The axis covers the nonces of the visible time: a short part of a long run would otherwise be a flat line.
    const bounds = nonces ?? nonceBounds(inView)
    u.batch(() => {
      u.setScale('x', { min: span.from, max: span.to })
      u.setScale('y', { min: bounds.from, max: bounds.to })
    })
    u.redraw(false)
  }

  const chart: NonceChart = {
    draw: plot.draw,
    lane: () => lane,
    showLane(next) {
      lane = next
      selected = undefined
      show(whole)
    },
    focus(transaction) {
      lane = transaction.lane
      selected = transaction
      if (nonceOf(transaction) !== undefined) show(spanAround(transaction, data), noncesAround(transaction))
    },
    select(transaction) {
      selected = transaction
      u.redraw(false)
    },
    zoom: (factor) => show(zoomed(span, factor, (span.from + span.to) / 2, whole)),
    pan: (share) => show(panned(span, share, whole), nonces),
    showAll: () => show(whole),
  }
  dragAndWheel(plot, {
    zoomAt: (factor, at) => show(zoomed(span, factor, at, whole)),
    showSpan: (next) => show(next),
    showAll: chart.showAll,
  })
  followFingers(u, (next) => show(zoomed(next, 1, next.from, whole)))
  followPointer({ u, data, rows: () => rows, choose })
  followKeys({ place, u, data, chart, rows: () => rows, selected: () => selected, choose })
  place.before(
    legend(LEGEND, (next) => {
      hidden = next
      u.redraw(false)
    }),
  )
  show(whole)
  return chart
}

type Moves = {
  readonly zoomAt: (factor: number, at: number) => void
  readonly showSpan: (span: Span) => void
  readonly showAll: () => void
}

/** A dragged range is shown, the wheel zooms with Ctrl, a double click shows all. */
function dragAndWheel({ u }: Plot, { zoomAt, showSpan, showAll }: Moves): void {
  u.hooks.setSelect = [
    () => {
      const { left, width } = u.select
      if (width < 5) return
      const [from, to] = [u.posToVal(left, 'x'), u.posToVal(left + width, 'x')]
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
      showSpan({ from, to })
    },
  ]
  u.over.addEventListener('dblclick', showAll)
  const onWheel = (event: WheelEvent) => {
    // The wheel without a key scrolls the page.
    if (!event.ctrlKey) return
    event.preventDefault()
    const at = u.posToVal(event.clientX - u.over.getBoundingClientRect().left, 'x')
    zoomAt(event.deltaY < 0 ? 0.8 : 1.25, at)
  }
  u.over.addEventListener('wheel', onWheel, { passive: false })
}

function nameOf({ transactions }: Data): string {
  return `Nonces over time of ${number(transactions.length)} transactions. ${KEYS} The table below lists the transactions.`
}

function isWithin(transaction: Transaction, span: Span, nonces: Span | undefined, data: Data): boolean {
  const nonce = nonceOf(transaction)
  if (nonce === undefined || (nonces && (nonce < nonces.from || nonce > nonces.to))) return false
  const { from, to } = lifeOf(transaction, data)
  return from <= span.to && to >= span.from
}
