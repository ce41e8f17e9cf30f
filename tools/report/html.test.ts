import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { REPORT_MARK, renderPage } from './html.js'
import { buildModel } from './model/model.js'
import { pack } from './pack.js'
import { nonceOf, unpack } from './page/data.js'
import type { Payload } from './payload.js'
import {
  CLOSED,
  HEADER,
  hashOf,
  itemsOf,
  recordingOf,
  reported,
  START,
  textOf,
  well,
} from './report.fixture.js'

const EVIL = '</script><img src=x onerror="globalThis.hacked=1"><!--<script>'
const SCRIPT = "console.log('</script>')"

async function pageOf(text: string, title = 'run.jsonl') {
  const model = await buildModel(await itemsOf(text, 65_536))
  return renderPage({ title, model, script: SCRIPT })
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
    expect(data.lanes).toContain(EVIL)
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

  test('reports an empty recording', async () => {
    for (const text of ['', textOf([HEADER, CLOSED])]) {
      const page = await pageOf(text)
      expect(page).toContain('No event was recorded: the recorder followed no sender.')
      expect(page).toContain('There is nothing to draw.')
    }
  })

  test('of 20,000 transactions is below 4 MB, with a script of 700 kB', async () => {
    const page = await pageOf(recordingOf(20_000))
    expect(page.length + 700_000).toBeLessThan(4_000_000)
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
    const payload = pack(model, { transactionsMax: 100, problemsMax: 30 })
    const data = unpack(payload)
    expect(data.transactions).toHaveLength(100)
    expect(payload.transactionsInAll).toBe(1_000)
    expect(data.problems).toHaveLength(30)
    expect(data.problemsInAll).toBe(50)
    for (const { transaction } of data.problems) expect(transaction?.entries.length).toBe(6)
    expect(payload.groups).toMatchObject([{ kind: 'rebroadcast', rows: 50 }])
  })
})
