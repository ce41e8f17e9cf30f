import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSender, type Sender } from '../../src/index.js'
import { recordTo } from '../../src/recorder/index.js'
import { startDevnet } from '../../tools/devnet/index.js'
import { runReport } from '../../tools/report/command.js'
import { type Browser, CHROMIUM, hasChromium, startBrowser } from '../support/chromium.js'
import { colours, find, fits, pointAtSome } from '../support/reportPage.js'

const SLOW_MS = 600_000
const EVIL = '</script><img src=x onerror="globalThis.hacked = 1">'

const folder = mkdtempSync(join(tmpdir(), 'txlane-report-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function reportOf(name: string): Promise<string> {
  const [input, out] = [join(folder, `${name}.jsonl`), join(folder, `${name}.html`)]
  expect(await runReport({ input, out, json: false, force: false })).toBe(0)
  return out
}

/**
 * Transfers through faults: lost and broken requests, a foreign transaction at a nonce, and a caller that
 * changed its mind.
 */
async function recordRun(path: string): Promise<void> {
  await using devnet = await startDevnet({ blockTimeMs: 1_000, flashblockMs: 200, seed: 7 })
  await using recorder = recordTo(path)
  await using sender = createSender({ client: devnet.client(), lossDepth: 'child' })
  recorder.follow(sender)
  await sender.ready()
  const to = devnet.accounts[1]!.address
  devnet.faults.preset('default')
  await sendAll(sender as unknown as Sender, to)
  devnet.faults.clear()
  sender.pause()
  const unwanted = await sender.send({ to, value: 2n, gas: 21_000n }, { id: 'unwanted', until: 'queued' })
  await unwanted.cancel()
  sender.resume()
  await devnet.foreign({ account: sender.address })
  const late = await sender.send({ to, value: 1n, gas: 21_000n }, { id: EVIL })
  await late.wait('sealed')
  await sender.drain()
}

async function sendAll(sender: Sender, to: `0x${string}`): Promise<void> {
  const items = Array.from({ length: 60 }, (_, index) => ({
    id: `pay-${index}`,
    request: { to, value: 1n, gas: 21_000n },
  }))
  for await (const result of sender.sendMany(items, { until: 'sealed' })) expect(result.ok).toBe(true)
}

describe('a run with faults is recorded', () => {
  let browser: Browser
  beforeAll(async () => {
    await recordRun(join(folder, 'run.jsonl'))
    if (hasChromium) browser = await startBrowser()
  }, SLOW_MS)
  afterAll(() => browser?.[Symbol.asyncDispose](), SLOW_MS)

  test('with the whole history of each transaction, and no secret of the endpoint', () => {
    const text = readFileSync(join(folder, 'run.jsonl'), 'utf8')
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    for (const event of ['queued', 'signed', 'sealed']) {
      const ids = lines.filter((line) => line.event === event).map(({ id }) => id)
      expect(ids).toEqual(expect.arrayContaining(Array.from({ length: 60 }, (_, index) => `pay-${index}`)))
    }
    expect(lines.at(-1)?.event).toBe('closed')
    expect(lines.map(({ event }) => event)).toContain('foreign')
  })

  describe.skipIf(!hasChromium)(`its page (skipped without a Chromium at ${CHROMIUM})`, () => {
    test(
      'makes no request, reports no error, and draws everything, in light and in dark mode',
      async () => {
        const file = await reportOf('run')
        const { page, requests, complaints } = await browser.open()
        const grounds: string[] = []
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          await page.goto(pathToFileURL(file).href)
          for (const id of ['nonces', 'latency', 'throughput'])
            expect(await colours(page, id)).toBeGreaterThan(5)
          grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
          await fits(page)
        }
        await page.locator('#theme').click()
        grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
        expect(grounds[0]).toBe('rgb(255, 255, 255)')
        expect(grounds[1]).not.toBe(grounds[0])
        expect(grounds[2]).toBe(grounds[0])
        await page.setViewportSize({ width: 400, height: 800 })
        await fits(page)
        expect(complaints).toEqual([])
        expect(requests.every((url) => url === pathToFileURL(file).href)).toBe(true)
      },
      SLOW_MS,
    )

    test(
      'shows the history of the transaction under the pointer, and keeps it when clicked',
      async () => {
        const { page, complaints } = await browser.open()
        await page.goto(pathToFileURL(await reportOf('run')).href)
        await pointAtSome(page)
        const tip = await page.locator('#tip').textContent()
        for (const reported of ['queued', 'signed', 'sealed']) expect(tip).toContain(reported)
        const id = await page.locator('#tip strong').textContent()
        await page.mouse.down()
        await page.mouse.up()
        expect(await page.locator('#history h3').textContent()).toBe(id)
        const events = await page.locator('#history table').first().locator('td.event').allInnerTexts()
        expect(events).toEqual(expect.arrayContaining(['queued', 'signed', 'sealed']))
        expect(await page.locator('#history table').nth(1).textContent()).toMatch(/0x[0-9a-f]{64}/)
        expect(complaints).toEqual([])
      },
      SLOW_MS,
    )

    test(
      'shows the failures and outcomes in sortable tables, and finds a transaction by a hostile id',
      async () => {
        const { page, complaints } = await browser.open()
        await page.goto(pathToFileURL(await reportOf('run')).href)
        expect(await page.locator('#summary').textContent()).toMatch(
          /^The recording has 62 transactions from account 0x.* on chain \d+/,
        )
        const kindsIn = (role: string) =>
          page
            .locator(`#${role} details`)
            .evaluateAll((all) => all.map((one) => one.getAttribute('data-kind')))
        expect(await kindsIn('fault')).toContain('foreign')
        expect(await kindsIn('asked')).toEqual(expect.arrayContaining(['cancelled', 'paused']))
        expect(await kindsIn('fault')).not.toContain('cancelled')
        const foreign = page.locator('details[data-kind=foreign]')
        if (!(await foreign.evaluate((one) => (one as HTMLDetailsElement).open)))
          await foreign.locator('summary').click()
        await page.locator('#all summary').click()
        const nonces = page.locator('#all td:first-child')
        await page.locator('#all th button', { hasText: 'nonce' }).click()
        const rising = (await nonces.allInnerTexts()).map((text) => (text === 'none' ? -1 : Number(text)))
        expect(rising).toEqual(rising.toSorted((a, b) => a - b))
        expect(await page.locator('#all th[aria-sort=ascending]').textContent()).toBe('nonce')
        await find(page, EVIL)
        expect(await page.locator('#history h3').textContent()).toBe(EVIL)
        expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined()
        expect(await page.locator('img').count()).toBe(0)
        expect(complaints).toEqual([])
      },
      SLOW_MS,
    )
  })
})
