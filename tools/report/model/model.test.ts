import { describe, expect, test } from 'vitest'
import { CLOSED, HEADER, itemsOf, LANE, reported, START, textOf, well } from '../report.fixture.js'
import { buildModel } from './model.js'
import { PROBLEMS } from './problem.js'
import { sentencesOf } from './summary.js'

const modelOf = async (...lines: Parameters<typeof textOf>[0]) =>
  buildModel(await itemsOf(textOf([HEADER, ...lines, CLOSED])))

/** The ends of all problems of a kind. */
async function endsOf(kind: string, ...lines: Parameters<typeof textOf>[0]): Promise<string[]> {
  const { problems } = await modelOf(...lines)
  return problems
    .filter((problem) => problem.kind === kind)
    .map(
      ({ state, ended, endedAt, at }) =>
        `${state}: ${ended}${endedAt === undefined ? '' : ` +${endedAt - at}`}`,
    )
}

const failure = (code: string) => ({
  error: { name: 'TxlaneError', code, fate: 'notExecuted', message: 'no.' },
})

describe('the end of a problem', () => {
  const requeued = [
    reported(0, 'queued', { id: 'a' }),
    reported(1, 'signed', { id: 'a', nonce: 5 }),
    reported(9, 'foreign', { id: 'a', nonce: 5 }),
    reported(20, 'signed', { id: 'a', nonce: 8 }),
    reported(40, 'sealed', { id: 'a', nonce: 8 }),
  ]

  test.each<[string, string, Parameters<typeof textOf>[0], string[]]>([
    ['a nonce that was taken', 'foreign', requeued, ['mended: Sealed at nonce 8 +31']],
    [
      'a foreign nonce without a transaction of the sender',
      'foreign',
      [reported(1, 'foreign', { nonce: 3 })],
      ['reported: No transaction of this sender had the nonce'],
    ],
    [
      'a gap that a no-op filled',
      'gap',
      [reported(1, 'gap', { nonce: 3 }), reported(50, 'gapFilled', { nonce: 3 })],
      ['mended: Filled by a no-op +49'],
    ],
    [
      'a gap that a transaction filled',
      'gap',
      [reported(1, 'gap', { nonce: 3 }), ...well(2, 3, 'late')],
      ['mended: Filled by transaction late +2001'],
    ],
    [
      'a gap that stayed',
      'gap',
      [reported(1, 'gap', { nonce: 3 })],
      ['open: Not filled by the end of the recording'],
    ],
    [
      'a no-op without a gap event',
      'gapFilled',
      [reported(1, 'gapFilled', { nonce: 3 })],
      ['mended: The nonce is used +0'],
    ],
    [
      'a block that left the chain',
      'reorged',
      [
        ...well(0, 1),
        reported(2_500, 'reorged', { id: 'tx-1', nonce: 1 }),
        reported(4_000, 'sealed', { id: 'tx-1', nonce: 1 }),
      ],
      ['mended: Sealed +1500'],
    ],
    [
      'an unresolved transaction',
      'unresolved',
      [reported(0, 'queued', { id: 'a' }), reported(5, 'unresolved', { id: 'a', nonce: 1 })],
      ['open: Not finished by the end of the recording'],
    ],
    [
      'a stuck transaction that failed',
      'stuck',
      [
        reported(0, 'stuck', { id: 'a', nonce: 1 }),
        reported(7, 'failed', { id: 'a', nonce: 1, ...failure('REJECTED') }),
      ],
      ['ended: Failed with REJECTED +7'],
    ],
    [
      'a failure',
      'failed',
      [reported(0, 'failed', { id: 'a', ...failure('SIGNER') })],
      ['ended: SIGNER, notExecuted: no. +0'],
    ],
    [
      'a cancel',
      'cancelled',
      [reported(0, 'cancelled', { id: 'a', ...failure('CANCELLED') })],
      ['ended: CANCELLED, notExecuted: no. +0'],
    ],
    [
      'holds, each by its own reason',
      'held',
      [
        reported(0, 'held', { reason: 'starved' }),
        reported(1, 'held', { reason: 'jump' }),
        reported(5, 'released', { reason: 'starved' }),
      ],
      ['mended: Released +5', 'open: Not released by the end of the recording'],
    ],
    [
      'endpoints, each by itself',
      'endpointDown',
      [
        reported(0, 'endpoint', { endpoint: 'https://a', change: 'down', reason: 'it lags by 4 blocks' }),
        reported(1, 'endpoint', { endpoint: 'https://b', change: 'down', reason: 'it lags by 5 blocks' }),
        reported(3, 'endpoint', { endpoint: 'https://b', change: 'up' }),
      ],
      ['open: Not back by the end of the recording', 'mended: It is used again +2'],
    ],
    [
      'a lost lease',
      'leaseLost',
      [reported(0, 'leaseLost', { epoch: 2 })],
      ['reported: This process continued as a standby'],
    ],
    ['an error', 'error', [reported(0, 'error', failure('STORE'))], ['reported: STORE, notExecuted: no.']],
  ])('%s', async (_, kind, lines, ends) => {
    expect(await endsOf(kind, ...lines)).toEqual(ends)
  })

  test('repeated broadcasts of a transaction are one problem with a count', async () => {
    const again = [1, 2, 3].map((after) => reported(after, 'rebroadcast', { id: 'tx-1', nonce: 1 }))
    const { problems, summary } = await modelOf(...well(0, 1), ...again)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatchObject({ kind: 'rebroadcast', times: 3, nonce: 1, history: { id: 'tx-1' } })
    expect(summary.problems).toMatchObject([{ kind: 'rebroadcast', rows: 1, times: 3 }])
  })

  test('a hold, an endpoint and a wait carry their recorded reasons', async () => {
    const { problems } = await modelOf(
      reported(0, 'held', { reason: 'jump', detail: 'latest counts 900, the lane 20' }),
      reported(1, 'endpoint', { endpoint: 'https://a', change: 'failing', said: '502 Bad Gateway' }),
      reported(2, 'endpoint', { endpoint: 'https://b', change: 'down', reason: 'it lags by 4 blocks' }),
      reported(3, 'waiting', { id: 'a', waitingFor: 'funds' }),
    )
    expect(problems.map(({ what }) => what)).toEqual([
      'The lane reserved no nonces: jump: latest counts 900, the lane 20',
      'An endpoint did not answer, or lagged: https://a: "502 Bad Gateway"',
      'An endpoint did not answer, or lagged: https://b: it lags by 4 blocks',
      'It waits for an operator: money on the account',
    ])
  })

  test('the no-op that fills a gap ends the gap, and is not a separate problem', async () => {
    const { problems } = await modelOf(
      reported(1, 'gap', { nonce: 3 }),
      reported(50, 'gapFilled', { nonce: 3 }),
    )
    expect(problems.map(({ kind }) => kind)).toEqual(['gap'])
  })

  test('gaps of the recording itself are separate problems', async () => {
    const items = await itemsOf(textOf([HEADER, { at: START, event: 'dropped', count: 12 }, '{"cut', HEADER]))
    const { problems, summary } = await buildModel(items)
    expect(problems.map(({ kind }) => kind).sort()).toEqual(['cutOff', 'cutOff', 'dropped', 'torn'])
    expect(summary.recording).toMatchObject({ sessions: 2, notClosed: 2, dropped: 12, tornLines: 1 })
    expect(sentencesOf(summary).join(' ')).toContain('0 events from 0 lanes, and no transaction')
  })
})

describe('the figures', () => {
  test('count the final state of each transaction', async () => {
    const { summary } = await modelOf(
      ...well(0, 1),
      ...well(0, 2),
      reported(2_100, 'reverted', { id: 'tx-2', nonce: 2 }),
      ...well(0, 3),
      reported(2_200, 'reorged', { id: 'tx-3', nonce: 3 }),
      reported(1, 'failed', { id: 'd' }),
      reported(1, 'cancelled', { id: 'e' }),
      reported(1, 'superseded', { id: 'f' }),
      reported(1, 'unresolved', { id: 'g', nonce: 9 }),
    )
    expect(summary.transactions).toEqual({
      sent: 7,
      sealed: 2,
      reverted: 1,
      failed: 1,
      aborted: 0,
      cancelled: 1,
      superseded: 1,
      unresolved: 1,
      open: 1,
    })
  })

  test('measure the time from the send to each stage, for transactions with a recorded send', async () => {
    const { summary, latency } = await modelOf(...well(0, 1), ...well(50, 2), ...well(100, 3).slice(1))
    expect(summary.latencyMs).toEqual({
      accepted: { count: 2, p50: 10, p90: 10, p99: 10, max: 10 },
      preconfirmed: { count: 2, p50: 200, p90: 200, p99: 200, max: 200 },
      sealed: { count: 2, p50: 2_000, p90: 2_000, p99: 2_000, max: 2_000 },
    })
    const { edgesMs, counts } = latency.histogram
    for (const [stage, ms] of [
      ['accepted', 10],
      ['preconfirmed', 200],
      ['sealed', 2_000],
    ] as const) {
      const bin = counts[stage].indexOf(2)
      expect(edgesMs[bin]).toBeLessThanOrEqual(ms)
      expect(edgesMs[bin + 1]).toBeGreaterThan(ms)
    }
  })

  test('ignore latencies of a clock that was set back', async () => {
    const { summary } = await modelOf(
      reported(100, 'queued', { id: 'a' }),
      reported(50, 'accepted', { id: 'a' }),
    )
    expect(summary.latencyMs).toEqual({})
  })

  test('count transactions per second', async () => {
    const { throughput, summary } = await modelOf(...well(0, 1), ...well(100, 2), ...well(1_500, 3))
    expect(throughput?.binMs).toBe(1_000)
    expect(throughput?.perSecond.sent.slice(0, 3)).toEqual([2, 1, 0])
    expect(throughput?.perSecond.sealed.slice(0, 4)).toEqual([0, 0, 2, 1])
    expect(summary.acceptedPerSecond).toEqual({ peak: 2, mean: 1.5 })
  })

  test('use wider bins for a long recording', async () => {
    const { throughput } = await modelOf(...well(0, 1), ...well(7 * 86_400_000, 2))
    expect(throughput?.binMs).toBe(1_800_000)
    expect(throughput?.perSecond.sent.length).toBeLessThanOrEqual(600)
    expect(throughput?.perSecond.sent[0]).toBe(1 / 1_800)
  })

  test('count the same id on two lanes as two transactions', async () => {
    const other = well(0, 1).map((line) => ({ ...line, lane: '1:0x00' }))
    const { summary } = await modelOf(...well(0, 1), ...other)
    expect(summary.transactions.sent).toBe(2)
    expect(summary.lanes).toEqual([LANE, '1:0x00'])
  })
})

describe('the sentences at the top', () => {
  test('summarise the results', async () => {
    const { summary } = await modelOf(
      ...well(0, 1),
      ...well(0, 2),
      reported(1, 'gap', { nonce: 0 }),
      reported(900, 'gapFilled', { nonce: 0 }),
      reported(2, 'failed', { id: 'x' }),
    )
    expect(sentencesOf(summary)).toEqual([
      'The recording has 3 transactions from account 0x709979…79C8 on chain 31337, from 2025-06-15 15:06:40 UTC to 2025-06-15 15:06:49 UTC (9.0 s).',
      '2 were sealed, 1 failed.',
      '1 nonce was empty below used ones, and was filled.',
      'On average 2 per second were accepted, and at most 2 in one second.',
      'Half were accepted within 10 ms, preconfirmed within 200 ms, sealed within 2.0 s.',
    ])
  })

  test('report an incomplete recording', async () => {
    const { summary } = await buildModel(await itemsOf(textOf([HEADER, ...well(0, 1)])))
    expect(sentencesOf(summary).at(-1)).toBe('The recording is incomplete: the recorder was not closed.')
  })
})

describe('numbers of the sentences and of the tables agree', () => {
  const rowsOf = ({ summary }: Awaited<ReturnType<typeof modelOf>>, kind: string) =>
    summary.problems.find((group) => group.kind === kind)

  test('if a reorg makes a transaction revert twice', async () => {
    const model = await modelOf(
      ...well(0, 1),
      reported(2_100, 'reverted', { id: 'tx-1', nonce: 1 }),
      reported(2_200, 'reorged', { id: 'tx-1', nonce: 1 }),
      reported(2_300, 'sealed', { id: 'tx-1', nonce: 1 }),
      reported(2_400, 'reverted', { id: 'tx-1', nonce: 1 }),
    )
    expect(model.summary.transactions.reverted).toBe(1)
    expect(rowsOf(model, 'reverted')).toMatchObject({ rows: 1, times: 2, states: { ended: 1 } })
  })

  test('if a reorg makes a reverted transaction succeed', async () => {
    const model = await modelOf(
      ...well(0, 1),
      reported(2_100, 'reverted', { id: 'tx-1', nonce: 1 }),
      reported(2_200, 'reorged', { id: 'tx-1', nonce: 1 }),
      reported(2_300, 'sealed', { id: 'tx-1', nonce: 1 }),
    )
    expect(model.summary.transactions).toMatchObject({ sealed: 1, reverted: 0 })
    expect(rowsOf(model, 'reverted')).toMatchObject({ rows: 1, states: { ended: 0, mended: 1 } })
    expect(model.problems.find(({ kind }) => kind === 'reverted')?.ended).toBe(
      'That block left the chain, and it was sealed in another',
    )
  })

  test('if an id that failed is sent again', async () => {
    const model = await modelOf(reported(0, 'failed', { id: 'tx-1', ...failure('SIGNER') }), ...well(10, 1))
    expect(model.summary.transactions).toMatchObject({ sent: 1, sealed: 1, failed: 0 })
    expect(rowsOf(model, 'failed')).toMatchObject({ rows: 1, states: { ended: 0, mended: 1 } })
  })

  test('for every outcome: their sum is the number of transactions', async () => {
    const { summary } = await modelOf(
      ...well(0, 1),
      ...['failed', 'cancelled', 'superseded', 'unresolved', 'queued'].map((event) =>
        reported(1, event, { id: event }),
      ),
      reported(1, 'failed', { id: 'gone', ...failure('ABORTED') }),
    )
    const { sent, reverted, ...others } = summary.transactions
    expect(Object.values(others).reduce((sum, count) => sum + count, 0)).toBe(sent)
    expect(others).toMatchObject({ failed: 1, aborted: 1, open: 1 })
  })
})

describe('a request of the caller is no fault', () => {
  test.each([
    ['a pause', 'paused', reported(1, 'held', { reason: 'paused' })],
    ['an abort', 'aborted', reported(1, 'failed', { id: 'a', ...failure('ABORTED') })],
    ['a cancel', 'cancelled', reported(1, 'cancelled', { id: 'a' })],
    ['a replacement', 'replaced', reported(1, 'replaced', { id: 'a', nonce: 1 })],
    ['a replaced transaction', 'superseded', reported(1, 'superseded', { id: 'a' })],
  ] as const)('%s', async (_, kind, line) => {
    const { problems } = await modelOf(line)
    expect(problems.map((problem) => problem.kind)).toEqual([kind])
    expect(PROBLEMS[kind].role).toBe('asked')
  })
})

test('the most serious kinds are first, and kinds with an open case before all others', async () => {
  const all = Array.from({ length: 30 }, (_, nonce) => [
    ...well(0, nonce),
    reported(50, 'rebroadcast', { id: `tx-${nonce}`, nonce }),
  ])
  const lines = [
    ...all.flat(),
    reported(30, 'reorged', { id: 'tx-2', nonce: 2 }),
    reported(40, 'foreign', { id: 'tx-1', nonce: 1 }),
    reported(60, 'endpoint', { endpoint: 'https://a', change: 'down' }),
  ]
  const { summary } = await modelOf(...lines.sort((a, b) => Number(a.at) - Number(b.at)))
  expect(summary.problems.map(({ kind }) => kind)).toEqual([
    'endpointDown',
    'foreign',
    'reorged',
    'rebroadcast',
  ])
})
