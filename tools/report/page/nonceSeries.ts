import type { CustomSeriesRenderItem } from 'echarts'
import { graphic } from 'echarts/core'
import type { Colours } from './colours.js'
import type { Data, Problem, Transaction } from './data.js'

/** Stages with a duration: from their event until the next one. */
const PHASES = ['queued', 'signed', 'accepted', 'preconfirmed'] as const
type PhaseName = (typeof PHASES)[number]

/** Bars grow with the stage, so that the thickness also identifies the stage without colours. */
const SHARE: Readonly<Record<PhaseName, number>> = {
  queued: 0.25,
  signed: 0.5,
  accepted: 0.75,
  preconfirmed: 1,
}
const BAR_MAX = 14
// Rows below this height in pixels are drawn without gaps, because gaps would form a meaningless pattern.
const ROW_DENSE = 4
// Limits of the marks in view: more would cover the bars. Zooming in shows all.
const [MARKS_FEW, MARKS_MAX] = [60, { fault: 500, repair: 200 }]

const CROSS =
  'path://M0,1.5 L1.5,0 L5,3.5 L8.5,0 L10,1.5 L6.5,5 L10,8.5 L8.5,10 L5,6.5 L1.5,10 L0,8.5 L3.5,5 Z'
const bar = (share: number) => `path://M0,${5 - share * 5} h16 v${share * 10} h-16 z`

/** Legend entries in order, with their symbols. */
export const LEGEND = [
  ...PHASES.map((stage) => ({ name: stage as string, icon: bar(SHARE[stage]) })),
  { name: 'sealed', icon: 'circle' },
  { name: 'ended', icon: CROSS },
  { name: 'fault', icon: 'triangle' },
  { name: 'repair', icon: 'diamond' },
]

/** The series for the transactions in view. */
export function nonceSeries(
  data: Data,
  lane: number,
  rows: readonly Transaction[],
  isInView: (problem: Problem) => boolean,
  colours: Colours,
): Record<string, unknown>[] {
  const drawn = rows.map((transaction) => phasesOf(transaction, data.endedAt))
  const phases = drawn.flatMap((one) => one.phases)
  const rests = drawn.flatMap((one) => one.rests)
  return [
    ...PHASES.map((stage) => ({
      type: 'custom',
      id: stage,
      name: stage,
      renderItem: renderBar(SHARE[stage], stage === 'queued' ? 0.45 : 1),
      itemStyle: { color: colours(stage) },
      dimensions: ['from', 'to', 'nonce'],
      encode: { x: ['from', 'to'], y: 'nonce' },
      clip: true,
      silent: true,
      data: phases.filter((phase) => phase.stage === stage).map(({ from, to, nonce }) => [from, to, nonce]),
    })),
    dots('sealed', 'circle', 4, colours, points(rests, 'sealed')),
    dots('ended', CROSS, 8, colours, points(rests, 'ended')),
    ...marks(data, lane, isInView, colours),
  ]
}

function points(rests: ReturnType<typeof phasesOf>['rests'], kind: 'sealed' | 'ended'): number[][] {
  return rests.filter((rest) => rest.kind === kind).map(({ at, nonce }) => [at, nonce])
}

function dots(name: string, symbol: string, symbolSize: number, colours: Colours, data: number[][]) {
  return {
    type: 'scatter',
    id: name,
    name,
    symbol,
    symbolSize,
    silent: true,
    itemStyle: { color: colours(name) },
    data,
  }
}

type Side = 'x' | 'y' | 'width' | 'height'

/** @param opacity lower for the waiting stage, which recedes */
function renderBar(share: number, opacity: number): CustomSeriesRenderItem {
  return (params, api) => {
    const nonce = Number(api.value(2))
    const [from = 0, middle = 0] = api.coord([api.value(0), nonce])
    const [to = 0] = api.coord([api.value(1), nonce])
    const row = (api.size?.([0, 1]) as number[] | undefined)?.[1] ?? 1
    const thick = row < ROW_DENSE ? row : Math.min(BAR_MAX, row * 0.82) * share
    // Rounded to whole pixels: fractions would be drawn as stripes.
    const top = Math.round(middle - thick / 2)
    const height = Math.max(1, Math.round(middle + thick / 2) - top)
    const { x, y, width, height: tall } = params.coordSys as unknown as Record<Side, number>
    const shape = graphic.clipRectByRect(
      { x: from, y: top, width: Math.max(to - from, 1), height },
      { x, y, width, height: tall },
    )
    if (shape === undefined) return
    return { type: 'rect', shape, style: { fill: String(api.visual('color')), opacity } }
  }
}

/** Marks of problems and repairs at nonces. Problems of the whole lane are a band or a line. */
function marks(
  data: Data,
  lane: number,
  isInView: (problem: Problem) => boolean,
  colours: Colours,
): Record<string, unknown>[] {
  const here = data.problems.filter((problem) => problem.lane === lane || problem.lane < 0)
  const atNonces = (role: 'fault' | 'repair') =>
    thinned(
      here.filter(
        (problem) => problem.kind.role === role && problem.nonce !== undefined && isInView(problem),
      ),
      MARKS_MAX[role],
    ).map(({ at, nonce }) => [at, nonce])
  const [faults, repairs] = [atNonces('fault'), atNonces('repair')] as [number[][], number[][]]
  // Many marks are close together: smaller ones cover less.
  const size = (marks: readonly unknown[]) => (marks.length > MARKS_FEW ? 6 : 9)
  return [
    {
      ...dots('fault', 'triangle', size(faults), colours, faults),
      z: 4,
      markArea: {
        silent: true,
        itemStyle: { color: colours('band') },
        label: { show: false },
        data: bands(here, data.endedAt),
      },
      markLine: {
        silent: true,
        symbol: 'none',
        label: { show: false },
        lineStyle: { color: colours('fault'), type: 'dashed', width: 1, opacity: 0.7 },
        data: here.filter(({ kind }) => LINES.has(kind.name)).map(({ at }) => ({ xAxis: at })),
      },
    },
    {
      ...dots('repair', 'diamond', size(repairs), colours, repairs),
      itemStyle: { color: 'transparent', borderColor: colours('repair'), borderWidth: 1.4 },
      z: 4,
    },
  ]
}

const LINES: ReadonlySet<string> = new Set(['endpointDown', 'wrongChain', 'leaseLost', 'dropped', 'cutOff'])

function bands(problems: readonly Problem[], end: number): { xAxis: number }[][] {
  return problems
    .filter(({ kind }) => kind.name === 'held')
    .map(({ at, endedAt }) => [{ xAxis: at }, { xAxis: endedAt ?? end }])
}

/** A stage of a transaction at a nonce, with its start and end. */
type Phase = {
  readonly stage: PhaseName
  readonly nonce: number
  readonly from: number
  readonly to: number
}

/** The final point of a transaction: sealed, or ended without a block. */
type Rest = { readonly kind: 'sealed' | 'ended'; readonly at: number; readonly nonce: number }

const ENDS: ReadonlySet<string> = new Set(['failed', 'cancelled', 'superseded'])

/**
 * The bars of one transaction. A transaction that waits for a nonce is drawn at its later nonce; one that
 * never gets a nonce is not drawn. An open transaction lasts until the end of the recording.
 */
export function phasesOf({ entries }: Transaction, endedAt: number): { phases: Phase[]; rests: Rest[] } {
  const phases: Phase[] = []
  const rests: Rest[] = []
  let stage: PhaseName | undefined
  let nonce: number | undefined
  let from = 0

  const close = (to: number) => {
    if (stage !== undefined && nonce !== undefined)
      phases.push({ stage, nonce, from, to: Math.max(from, to) })
  }
  for (const [index, entry] of entries.entries()) {
    const next = stageAfter(entry.event, stage)
    const place = next === 'queued' ? nonceAfter(entries, index) : (entry.nonce ?? nonce)
    if (next === stage && place === nonce) continue
    close(entry.at)
    nonce = place
    from = entry.at
    const comesToRest = next === 'sealed' || next === 'ended'
    stage = comesToRest ? undefined : next
    if (comesToRest && nonce !== undefined) rests.push({ kind: next, at: entry.at, nonce })
  }
  close(endedAt)
  return { phases, rests }
}

/** The nonce that a waiting transaction gets next. */
function nonceAfter(entries: Transaction['entries'], index: number): number | undefined {
  return entries.slice(index).find(({ event, nonce }) => event !== 'foreign' && nonce !== undefined)?.nonce
}

function stageAfter(event: string, stage: PhaseName | undefined): PhaseName | 'sealed' | 'ended' | undefined {
  if ((PHASES as readonly string[]).includes(event)) return event as PhaseName
  if (event === 'sealed') return 'sealed'
  if (ENDS.has(event)) return 'ended'
  // A foreign transaction has its nonce: it waits for another one.
  if (event === 'foreign') return 'queued'
  // Its block left the chain, but the network may still have its bytes.
  return event === 'reorged' ? 'accepted' : stage
}

/** Maximum rows to draw: more rows than lines on a screen add no information. */
const ROWS_MAX = 1_500

/**
 * Selects the transactions to draw: all in view if they are few, else the ones with problems and an even
 * selection of the others. Zooming in shows all.
 */
export function rowsInView(
  inView: readonly Transaction[],
  marked: ReadonlySet<Transaction>,
  max = ROWS_MAX,
): readonly Transaction[] {
  if (inView.length <= max) return inView
  const first = thinned(
    inView.filter((transaction) => marked.has(transaction)),
    Math.floor(max / 2),
  )
  const rest = thinned(
    inView.filter((transaction) => !marked.has(transaction)),
    max - first.length,
  )
  return [...first, ...rest]
}

function thinned<item>(all: readonly item[], max: number): readonly item[] {
  if (all.length <= max) return all
  return Array.from({ length: max }, (_, index) => all[Math.floor((index * all.length) / max)] as item)
}
