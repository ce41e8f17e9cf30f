import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { REPORT_MARK, renderPage } from './html.js'
import type { ChainNames } from './model/lane.js'
import { buildModel } from './model/model.js'
import { pack } from './pack.js'
import { nonceOf, unpack } from './page/data.js'
import { wholeSpan } from './page/nonceView.js'
import type { Payload } from './payload.js'
import {
  CLOSED,
  HEADER,
  hashOf,
  itemsOf,
  LANE,
  recordingOf,
  reported,
  START,
  textOf,
  well,
} from './report.fixture.js'

const EVIL = '</script><img src=x onerror="globalThis.hacked=1"><!--<script>'
const SCRIPT = "console.log('</script>')"

async function pageOf(text: string, title = 'run.jsonl', chains: ChainNames = new Map()) {
  const model = await buildModel(await itemsOf(text, 65_536))
  return renderPage({ title, model, chains, script: SCRIPT })
}

const dataIn = (page: string) =>
  JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? '') as Payload

describe('the page', () => {
  test('escapes ids, reasons, names and lanes', async () => {
    const lines = [
      HEADER,
      ...well(0, 1, EVIL),
      reported(1, 'held', { reason: EVIL }),
      reported(2, 'endpoint', { endpoint: EVIL, change: 'down' }),
      reported(3, 'failed', { id: `${EVIL}2`, error: { name: EVIL, code: EVIL, message: EVIL } }),
      reported(4, 'error', { lane: EVIL, error: { name: 'Error', message: EVIL } }),
      { ...HEADER, package: EVIL },
      CLOSED,
    ]
    const page = await pageOf(textOf(lines), EVIL)
    expect(page).not.toContain('<img')
    expect(page.match(/<script\b/g)).toHaveLength(2)
    expect(page.match(/<\/script/g)).toHaveLength(2)
    expect(page).not.toContain('<!--')
    const data = dataIn(page)
    expect(data.transactions[0]?.[0]).toBe(EVIL)
    expect(data.lanes.map(({ address }) => address)).toContain(EVIL)
  })

  test('has charts that begin just before the first event, after hours without one', async () => {
    const idleMs = 3_600_000
    const data = dataIn(await pageOf(textOf([HEADER, ...well(idleMs, 1), ...well(idleMs + 8_000, 2)])))
    const whole = wholeSpan(unpack(data))
    expect(whole).toEqual({ from: START + idleMs - 200, to: START + idleMs + 10_000 })
    expect(data.throughput).toMatchObject({ startedAt: START + idleMs, binMs: 1_000 })
    const early = unpack(dataIn(await pageOf(textOf([HEADER, ...well(0, 1)]))))
    expect(wholeSpan(early).from).toBe(START)
  })

  test('allows only its own script, by hash, and loads no other resource', async () => {
    const page = await pageOf(textOf([HEADER, ...well(0, 1), CLOSED]))
    const script = /<script>(.*?)<\/script>\n<\/body>/s.exec(page)?.[1] ?? ''
    expect(script).toBe("console.log('<\\/script>')")
    const hash = createHash('sha256').update(script).digest('base64')
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1]
    expect(policy).toMatch(/^default-src 'none'; /)
    expect(policy).toContain(`script-src 'sha256-${hash}';`)
    expect(page.indexOf('Content-Security-Policy')).toBeLessThan(page.indexOf('<style'))
    expect(page).not.toMatch(/\b(?:src|href)=/)
  })

  test('carries the report mark near its beginning', async () => {
    expect((await pageOf('')).slice(0, 512)).toContain(REPORT_MARK)
  })

  test('without a transaction has no chart, and lists the faults', async () => {
    const page = await pageOf(textOf([HEADER, reported(1, 'held', { reason: 'starved' }), CLOSED]))
    expect(page).toContain('1 event from account 0x709979…79C8 on chain 31337, and no transaction.')
    expect(page).not.toContain('id="nonces"')
    expect(dataIn(page).groups).toMatchObject([{ kind: 'held', rows: 1 }])
  })

  test('names the chain that viem knows, with its explorer, and gives each time its date and zone', async () => {
    const base = new Map([[31_337, { name: 'Base', explorer: 'https://basescan.org' }]])
    const page = await pageOf(textOf([HEADER, ...well(0, 1), CLOSED]), 'run.jsonl', base)
    expect(page).toContain('from account 0x709979…79C8 on Base (chain 31337)')
    expect(page).toMatch(
      /from <time>2025-06-15 15:06:40 UTC<\/time> to <time>2025-06-15 15:06:49 UTC<\/time> \(9\.0 s\)/,
    )
    expect(dataIn(page).lanes).toEqual([
      { address: LANE.slice(6), chain: 'Base (chain 31337)', explorer: 'https://basescan.org' },
    ])
  })

  test('of 20,000 transactions is below 4 MB, with a script of 120 kB', async () => {
    const page = await pageOf(recordingOf(20_000))
    expect(page.length + 120_000).toBeLessThan(4_000_000)
    expect(dataIn(page).transactions).toHaveLength(20_000)
  })
})

describe('the data of the page', () => {
  test('equals the data of the model', async () => {
    const lines = [
      HEADER,
      ...well(100, 7, 'a'),
      reported(300, 'foreign', { id: 'b', nonce: 3, hash: hashOf(99) }),
      reported(400, 'failed', {
        id: 'b',
        error: { name: 'TxlaneError', code: 'REJECTED', fate: 'notExecuted', message: 'no.' },
      }),
    ]
    const model = await buildModel(await itemsOf(textOf(lines)))
    const data = unpack(JSON.parse(JSON.stringify(pack(model))) as Payload)
    const [a, b] = data.transactions
    expect(a?.entries.map(({ at, event, nonce }) => [at - START, event, nonce])).toEqual([
      [100, 'queued', undefined],
      [105, 'signed', 7],
      [110, 'accepted', 7],
      [300, 'preconfirmed', 7],
      [2_100, 'sealed', 7],
    ])
    expect(a?.attempts).toEqual([
      {
        hash: hashOf(7),
        fees: [
          ['maxFeePerGas', '3000000000'],
          ['maxPriorityFeePerGas', '1000000'],
        ],
        at: START + 105,
      },
    ])
    expect(a && nonceOf(a)).toBe(7)
    expect(b).toMatchObject({ id: 'b', outcome: 'failed' })
    expect(b?.entries.map(({ note }) => note)).toEqual([hashOf(99), 'REJECTED, notExecuted: no.'])
    const foreign = data.problems.find(({ kind }) => kind.name === 'foreign')
    expect(foreign).toMatchObject({
      at: START + 300,
      nonce: 3,
      state: 'ended',
      endedAt: START + 400,
      transaction: b,
    })
  })

  test('is bounded, prefers problems, and keeps figures for all transactions', async () => {
    const model = await buildModel(await itemsOf(recordingOf(1_000), 65_536))
    const payload = pack(model, new Map(), { transactionsMax: 100, problemsMax: 30 })
    const data = unpack(payload)
    expect(data.transactions).toHaveLength(100)
    expect(payload.transactionsInAll).toBe(1_000)
    expect(data.problems).toHaveLength(30)
    expect(data.problemsInAll).toBe(50)
    for (const { transaction } of data.problems) expect(transaction?.entries.length).toBe(6)
    expect(payload.groups).toMatchObject([{ kind: 'rebroadcast', rows: 50 }])
  })
})
