import type uPlot from 'uplot'
import type { Colours } from './colours.js'
import { type Data, nonceOf, type Problem, type Transaction } from './data.js'
import type { LegendEntry } from './legend.js'
import { PHASES, phasesOf, thinned } from './nonceSeries.js'

/** Bars grow with the stage, so that the thickness also identifies the stage without colours. */
const SHARE: Readonly<Record<(typeof PHASES)[number], number>> = {
  queued: 0.25,
  signed: 0.5,
  accepted: 0.75,
  preconfirmed: 1,
}
const BAR_MAX = 14
// Rows below this height in pixels are drawn without gaps, because gaps would form a meaningless pattern.
const ROW_DENSE = 4
// More marks would cover the bars. Zooming in shows all.
const MARKS_MAX = { fault: 500, repair: 200 }

export const LEGEND: readonly LegendEntry[] = [
  { name: 'queued', mark: '▁', colour: 'queued' },
  { name: 'signed', mark: '▂', colour: 'signed' },
  { name: 'accepted', mark: '▄', colour: 'accepted' },
  { name: 'preconfirmed', mark: '█', colour: 'preconfirmed' },
  { name: 'sealed', mark: '●', colour: 'sealed' },
  { name: 'ended', mark: '✕', colour: 'ended' },
  { name: 'fault', mark: '▽', colour: 'fault' },
  { name: 'repair', mark: '◇', colour: 'repair' },
]

/** The visible part of the chart, and the state of its legend. */
export type NonceScene = {
  readonly rows: readonly Transaction[]
  /** Problems of the lane, and of the recording itself, in the visible time. */
  readonly problems: readonly Problem[]
  readonly selected: Transaction | undefined
  readonly hidden: ReadonlySet<string>
}

/** Draws the bars, then the marks above them. */
export function paintNonces(u: uPlot, { endedAt }: Data, scene: NonceScene, colours: Colours): void {
  const brush = createBrush(u, colours)
  const isShown = (name: string) => !scene.hidden.has(name)
  if (isShown('fault')) for (const problem of scene.problems) brush.band(problem, endedAt)
  const drawn = scene.rows.map((transaction) => phasesOf(transaction, endedAt))
  for (const stage of PHASES.filter(isShown)) {
    brush.bars(
      drawn.flatMap(({ phases }) => phases.filter((phase) => phase.stage === stage)),
      stage,
    )
  }
  const rests = drawn.flatMap((one) => one.rests)
  if (isShown('sealed')) brush.dots(rests.filter(({ kind }) => kind === 'sealed'))
  if (isShown('ended')) brush.crosses(rests.filter(({ kind }) => kind === 'ended'))
  for (const role of ['repair', 'fault'] as const) {
    const marked = scene.problems.filter(({ kind, nonce }) => kind.role === role && nonce !== undefined)
    if (isShown(role)) brush.marks(thinned(marked, MARKS_MAX[role]), role)
  }
  if (scene.selected) brush.outline(scene.selected, endedAt)
}

/** A hold lasts; other events of a whole lane are at one time. */
const LINES: ReadonlySet<string> = new Set(['endpointDown', 'wrongChain', 'leaseLost', 'dropped', 'cutOff'])
const HOLDS: ReadonlySet<string> = new Set(['held', 'paused'])

type Point = { readonly at: number; readonly nonce: number }

function createBrush(u: uPlot, colours: Colours) {
  const { ctx, bbox } = u
  const scale = devicePixelRatio
  const xOf = (at: number) => u.valToPos(at, 'x', true)
  const yOf = (nonce: number) => u.valToPos(nonce, 'y', true)
  const rowHeight = Math.abs(yOf(1) - yOf(0))
  const barHeight = (share: number) =>
    rowHeight < ROW_DENSE * scale ? rowHeight : Math.min(BAR_MAX * scale, rowHeight * 0.82) * share

  function path(
    draw: () => void,
    style: { readonly fill?: string; readonly stroke?: string; readonly width?: number },
  ) {
    ctx.beginPath()
    draw()
    if (style.fill) {
      ctx.fillStyle = style.fill
      ctx.fill()
    }
    if (style.stroke) {
      ctx.strokeStyle = style.stroke
      ctx.lineWidth = (style.width ?? 1) * scale
      ctx.stroke()
    }
  }

  return {
    band({ kind, at, endedAt: until }: Problem, end: number): void {
      const x = xOf(at)
      if (HOLDS.has(kind.name)) {
        ctx.fillStyle = colours('band')
        ctx.fillRect(x, bbox.top, Math.max(1, xOf(until ?? end) - x), bbox.height)
      }
      if (!LINES.has(kind.name)) return
      ctx.setLineDash([5 * scale, 4 * scale])
      path(() => line(x, bbox.top, x, bbox.top + bbox.height), { stroke: colours('fault') })
      ctx.setLineDash([])
    },
    bars(
      phases: readonly { from: number; to: number; nonce: number }[],
      stage: (typeof PHASES)[number],
    ): void {
      const thick = barHeight(SHARE[stage])
      // The waiting stage recedes.
      ctx.globalAlpha = stage === 'queued' ? 0.45 : 1
      const draw = () => {
        for (const { from, to, nonce } of phases) {
          const [left, middle] = [xOf(from), yOf(nonce)]
          // Rounded to whole pixels: fractions would be drawn as stripes.
          const top = Math.round(middle - thick / 2)
          const height = Math.max(1, Math.round(middle + thick / 2) - top)
          ctx.rect(left, top, Math.max(xOf(to) - left, 1), height)
        }
      }
      path(draw, { fill: colours(stage) })
      ctx.globalAlpha = 1
    },
    dots(points: readonly Point[]): void {
      const radius = Math.min(2.2, Math.max(1, rowHeight / scale / 2)) * scale
      const draw = () => {
        for (const { at, nonce } of points) {
          ctx.moveTo(xOf(at) + radius, yOf(nonce))
          ctx.arc(xOf(at), yOf(nonce), radius, 0, 2 * Math.PI)
        }
      }
      path(draw, { fill: colours('sealed') })
    },
    crosses(points: readonly Point[]): void {
      const reach = 4 * scale
      const draw = () => {
        for (const { at, nonce } of points) {
          const [x, y] = [xOf(at), yOf(nonce)]
          line(x - reach, y - reach, x + reach, y + reach)
          line(x - reach, y + reach, x + reach, y - reach)
        }
      }
      path(draw, { stroke: colours('ended'), width: 2 })
    },
    /** Outlines on the bar, which stays visible inside them. A halo separates them from it where there is room. */
    marks(problems: readonly Problem[], role: 'fault' | 'repair'): void {
      const size = (problems.length > 60 ? 3 : 4.5) * scale
      const draw = () => {
        for (const { at, nonce = 0 } of problems) polygon(ctx, cornersOf(role, xOf(at), yOf(nonce), size))
      }
      if (rowHeight > 6 * scale) path(draw, { stroke: colours('ground'), width: 3.2 })
      path(draw, { stroke: colours(role), width: 1.4 })
    },
    /** A frame around the transaction that was found or chosen. */
    outline(transaction: Transaction, end: number): void {
      const nonce = nonceOf(transaction)
      if (nonce === undefined) return
      const { phases, rests } = phasesOf(transaction, end)
      const here = phases.filter((phase) => phase.nonce === nonce)
      const times = [...here.flatMap(({ from, to }) => [from, to]), ...rests.map(({ at }) => at)]
      const [left, right] = [xOf(Math.min(...times)), xOf(Math.max(...times))]
      const half = Math.max(barHeight(1) / 2, 3 * scale) + 3 * scale
      const pad = 5 * scale
      const draw = () => ctx.rect(left - pad, yOf(nonce) - half, right - left + 2 * pad, 2 * half)
      path(draw, { stroke: colours('accent'), width: 2 })
    },
  }

  function line(fromX: number, fromY: number, toX: number, toY: number): void {
    ctx.moveTo(fromX, fromY)
    ctx.lineTo(toX, toY)
  }
}

type Corner = readonly [x: number, y: number]

/** A triangle that points down for a fault, a diamond for a repair. */
function cornersOf(role: 'fault' | 'repair', x: number, y: number, size: number): readonly Corner[] {
  const [up, down, left, right] = [y - size, y + size, x - size, x + size]
  return role === 'fault'
    ? [
        [x, down],
        [right, y - size * 0.8],
        [left, y - size * 0.8],
      ]
    : [
        [x, up],
        [right, y],
        [x, down],
        [left, y],
      ]
}

function polygon(ctx: CanvasRenderingContext2D, [first, ...others]: readonly Corner[]): void {
  if (first === undefined) return
  ctx.moveTo(...first)
  for (const corner of others) ctx.lineTo(...corner)
  ctx.closePath()
}
