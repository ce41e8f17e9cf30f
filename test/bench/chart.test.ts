import { describe, expect, it } from 'vitest'
import { chartOf, curvesOf, renderChart } from '../../bench/chart.js'
import { atLeast } from '../../bench/claim.js'
import type { Measured } from '../../bench/result.js'
import { figuresOf } from '../../bench/support/spread.js'

const result: Measured = {
  says: 'A burst goes out quickly.',
  figures: [
    ...figuresOf({ measure: 'found out', unit: 'accepted a second' }, [
      ['txlane', [1_500, 1_400, 1_600]],
      ['viem <default>', [210, 220, 200]],
    ]),
    ...figuresOf({ measure: 'given', unit: 'accepted a second' }, [['txlane', [3_100]]]),
  ],
  checks: [atLeast('times viem', 7.1, 4), atLeast('of the bare loop', 0.8, 0.85)],
  notes: [],
  rounds: 3,
  transactions: 5_000,
  machine: { cpu: 'A processor', cores: 2, memoryGiB: 8, system: 'linux x64', node: 'v20.0.0' },
  versions: { txlane: '0.1.0', viem: '2.57.1' },
  measuredAt: '2026-01-02T03:04:05.678Z',
}

describe('the chart of a claim', () => {
  it('shows each subject, its median and unit, the checks that passed and failed, and the machine', async () => {
    const svg = await renderChart(chartOf('burst', result))
    expect(svg).toMatch(/^<svg [^>]*viewBox=/)
    for (const text of [
      'burst: A burst goes out quickly.',
      'txlane',
      'viem &lt;default&gt;',
      '1,500',
      '210',
      'found out, accepted a second',
      'given, accepted a second',
      'reached: 7.1 times viem (at least 4)',
      'NOT REACHED: 0.8 of the bare loop (at least 0.85)',
      'A processor, 2 cores',
      'viem 2.57.1',
    ])
      expect(svg).toContain(text)
  })

  it('writes names in full, however long they are', async () => {
    const name = "txlane, with a key of viem's, the first transactions of a process"
    const figures = figuresOf({ measure: 'sent', unit: 'a second' }, [[name, [1]]])
    expect(await renderChart(chartOf('latency', { ...result, figures }))).toContain(`>${name}</text>`)
  })

  it('highlights txlane among its peers, and colours every bar alike if there are no peers', async () => {
    const bars = async (...subjects: readonly string[]) => {
      const figures = figuresOf({ measure: 'sent', unit: 'a second' }, [
        ...subjects.map((subject) => [subject, [1]] as const),
      ])
      const svg = await renderChart(chartOf('durable', { ...result, figures }))
      return [...svg.matchAll(/aria-roledescription="bar"[^>]*fill="([^"]*)"/g)].map(([, fill]) => fill)
    }
    const [ours, peer] = await bars('txlane', 'viem')
    expect(ours).not.toBe(peer)
    expect(await bars('memory', 'SQLite')).toEqual([ours, ours])
  })

  it('has a white background, so that it is readable on a dark page, and loads nothing', async () => {
    const svg = await renderChart(chartOf('burst', result))
    expect(svg).toMatch(/<rect [^>]*fill="white"/)
    expect(svg).not.toMatch(/href=|<script|@import/)
  })

  it('draws a chart that has only zeros', async () => {
    const figures = figuresOf({ measure: 'timers set', unit: 'by all lanes' }, [['txlane', [0, 0, 0]]])
    expect(await renderChart(chartOf('lanes', { ...result, figures }))).not.toContain('NaN')
  })
})

describe('the chart of growth over time', () => {
  const curves = {
    name: 'landed',
    title: 'How many landed, and when',
    x: 'seconds',
    unit: ' s',
    y: 'transfers',
    series: [
      {
        subject: 'txlane',
        points: [
          [0, 0],
          [1, 400],
          [2, 1_000],
        ],
      },
      {
        subject: 'viem <default>',
        points: [
          [0, 0],
          [1, 80],
        ],
      },
      { subject: 'nobody', points: [[0, 0]] },
    ],
  } as const

  it('has a line for each subject with its final value and time, and names the machine', async () => {
    const svg = await renderChart(curvesOf(curves, result))
    for (const text of [
      'How many landed, and when',
      'txlane: 1,000 after 2 s',
      'viem &lt;default&gt;: 80 after 1 s',
      'nobody: none',
      'transfers',
      'A processor, 2 cores',
    ])
      expect(svg).toContain(text)
    expect(svg.match(/aria-roledescription="line mark"/g)).toHaveLength(3)
  })

  it('draws every line to the end, so that lost transactions are visible', () => {
    const { data } = curvesOf(curves, result) as unknown as {
      data: { values: { name: string; x: number }[] }
    }
    const ends = new Map(data.values.map(({ name, x }) => [name, x]))
    expect([...ends.values()]).toEqual([2.06, 2.06, 2.06])
  })
})
