import type { CustomSeriesRenderItem } from 'echarts'
import { graphic } from 'echarts/core'
import type { Colours } from './colours.js'
import type { Data, Problem, Transaction } from './data.js'
import { PHASES, type PhaseName, phasesOf } from './phases.js'
import { thinned } from './view.js'

/** Bars grow as a transaction comes along: a stage is known by its thickness where its colour is not. */
const SHARE: Readonly<Record<PhaseName, number>> = { queued: 0.25, signed: 0.5, accepted: 0.75, preconfirmed: 1 }
const [BAR_MIN, BAR_MAX] = [1.6, 14]
const MARKS_MAX = 2_000

const CROSS = 'path://M0,1.5 L1.5,0 L5,3.5 L8.5,0 L10,1.5 L6.5,5 L10,8.5 L8.5,10 L5,6.5 L1.5,10 L0,8.5 L3.5,5 Z'
const bar = (share: number) => `path://M0,${5 - share * 5} h16 v${share * 10} h-16 z`

/** Names in the legend, in its order, with what stands for each. */
export const LEGEND = [
  ...PHASES.map((stage) => ({ name: stage as string, icon: bar(SHARE[stage]) })),
  { name: 'sealed', icon: 'circle' },
  { name: 'ended', icon: CROSS },
  { name: 'fault', icon: 'triangle' },
  { name: 'repair', icon: 'diamond' },
]

/** The series for the transactions that are in view. */
export function nonceSeries(
  data: Data,
  lane: number,
  rows: readonly Transaction[],
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
      renderItem: renderBar(SHARE[stage]),
      itemStyle: { color: colours(stage) },
      dimensions: ['from', 'to', 'nonce'],
      encode: { x: ['from', 'to'], y: 'nonce' },
      clip: true,
      silent: true,
      data: phases.filter((phase) => phase.stage === stage).map(({ from, to, nonce }) => [from, to, nonce]),
    })),
    dots('sealed', 'circle', 4, colours, points(rests, 'sealed')),
    dots('ended', CROSS, 8, colours, points(rests, 'ended')),
    ...marks(data, lane, colours),
  ]
}

function points(rests: ReturnType<typeof phasesOf>['rests'], kind: 'sealed' | 'ended'): number[][] {
  return rests.filter((rest) => rest.kind === kind).map(({ at, nonce }) => [at, nonce])
}

function dots(name: string, symbol: string, symbolSize: number, colours: Colours, data: number[][]) {
  return { type: 'scatter', id: name, name, symbol, symbolSize, silent: true, itemStyle: { color: colours(name) }, data }
}

function renderBar(share: number): CustomSeriesRenderItem {
  return (params, api) => {
    const nonce = Number(api.value(2))
    const [from = 0, middle = 0] = api.coord([api.value(0), nonce])
    const [to = 0] = api.coord([api.value(1), nonce])
    const row = (api.size?.([0, 1]) as number[] | undefined)?.[1] ?? BAR_MIN
    const height = Math.max(BAR_MIN, Math.min(BAR_MAX, row * 0.82)) * Math.max(share, BAR_MIN / BAR_MAX)
    const { x, y, width, height: tall } = params.coordSys as unknown as Record<'x' | 'y' | 'width' | 'height', number>
    const shape = graphic.clipRectByRect(
      { x: from, y: middle - height / 2, width: Math.max(to - from, 1), height },
      { x, y, width, height: tall },
    )
    if (shape === undefined) return
    return { type: 'rect', shape, style: { fill: String(api.visual('color')) } }
  }
}

/** What went wrong at a nonce and what was done about it; what goes for the whole lane is a band or a line. */
function marks(data: Data, lane: number, colours: Colours): Record<string, unknown>[] {
  const here = data.problems.filter((problem) => problem.lane === lane || problem.lane < 0)
  const atNonces = (role: string) =>
    thinned(
      here.filter(({ kind, nonce }) => kind.role === role && nonce !== undefined),
      MARKS_MAX,
    ).map(({ at, nonce }) => [at, nonce])
  return [
    {
      ...dots('fault', 'triangle', 9, colours, atNonces('fault') as number[][]),
      z: 4,
      markArea: { silent: true, itemStyle: { color: colours('band') }, label: { show: false }, data: bands(here, data.endedAt) },
      markLine: {
        silent: true,
        symbol: 'none',
        label: { show: false },
        lineStyle: { color: colours('fault'), type: 'dashed', width: 1, opacity: 0.7 },
        data: here.filter(({ kind }) => LINES.has(kind.name)).map(({ at }) => ({ xAxis: at })),
      },
    },
    {
      ...dots('repair', 'diamond', 9, colours, atNonces('repair') as number[][]),
      itemStyle: { color: 'transparent', borderColor: colours('repair'), borderWidth: 1.6 },
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
