import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordTo } from '../../src/recorder/index.js'
import { runReport } from '../../tools/report/command.js'
import {
  HEADER,
  hashOf,
  recordingOf,
  reported,
  START,
  textOf,
  well,
} from '../../tools/report/report.fixture.js'
import { type Browser, CHROMIUM, hasChromium, startBrowser } from '../support/chromium.js'
import { colours, find, fits, pictureOf, pointAtSome } from '../support/reportPage.js'

const SLOW_MS = 600_000
const PAGE_BYTES_MAX = 120_000
const BASE = '8453:0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const folder = mkdtempSync(join(tmpdir(), 'txlane-report-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The page of a recording with this text. */
async function reportOf(name: string, text?: string): Promise<string> {
  const [input, out] = [join(folder, `${name}.jsonl`), join(folder, `${name}.html`)]
  if (text !== undefined) writeFileSync(input, text)
  expect(await runReport({ input, out, json: false, force: false })).toBe(0)
  return out
}

/** A recording on Base that ends with a stuck transaction, one behind it, and one that waits for money. */
function stuckRecording(): string {
  const accepted = (nonce: number) => well(3_000 + nonce, nonce, `grant-${nonce}`).slice(0, 3)
  const lines = [
    ...Array.from({ length: 40 }, (_, nonce) => well(nonce * 50, nonce, `salary-${nonce}`)).flat(),
    ...accepted(40),
    ...accepted(41),
    reported(3_100, 'queued', { id: 'poor' }),
    reported(6_000, 'stuck', { id: 'grant-40', nonce: 40 }),
    reported(6_100, 'waiting', { id: 'poor', waitingFor: 'funds' }),
  ].sort((a, b) => Number(a.at) - Number(b.at))
  const onBase = lines.map((line) => ({ ...line, lane: BASE }))
  return textOf([HEADER, ...onBase, { at: START + 9_000, event: 'closed' }])
}

describe.skipIf(!hasChromium)(`the page of a recording (skipped without a Chromium at ${CHROMIUM})`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  }, SLOW_MS)
  afterAll(() => browser?.[Symbol.asyncDispose](), SLOW_MS)

  test(
    'lists each transaction without an end with its reason, and links to the explorer of its chain',
    async () => {
      const { page, complaints } = await browser.open()
      await page.goto(pathToFileURL(await reportOf('stuck', stuckRecording())).href)
      const rows = await page.locator('#unfinished tbody tr').allInnerTexts()
      expect(rows).toHaveLength(3)
      expect(rows[0]).toMatch(/grant-40\s+nonce 40\s+Blocks pass without it, because/)
      expect(rows[1]).toMatch(/grant-41\s+nonce 41\s+It waits for nonce 40, transaction grant-40\./)
      expect(rows[2]).toMatch(/poor\s+no nonce\s+It waits for money/)
      for (const row of rows) expect(row).toMatch(/2025-06-15 15:06:\d\d\.\d{3}/)
      expect(await page.locator('.lanes').textContent()).toMatch(
        /0x70997970C51812dc.*on Base \(chain 8453\)/s,
      )
      expect(await page.locator('.lanes a').getAttribute('href')).toBe(
        `https://basescan.org/address/${BASE.slice(5)}`,
      )
      await page.locator('#unfinished button', { hasText: 'grant-40' }).click()
      expect(await page.locator('#history h3').textContent()).toBe('grant-40')
      expect(await page.locator('#history').textContent()).toContain('Blocks pass without it')
      expect(await page.locator('#history a[href*="/tx/"]').first().getAttribute('href')).toBe(
        `https://basescan.org/tx/${hashOf(40)}`,
      )
      expect(complaints).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'copies an id and a hash',
    async () => {
      const { page } = await browser.open()
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.goto(pathToFileURL(await reportOf('stuck', stuckRecording())).href)
      await find(page, 'grant-40')
      const copied = async (name: RegExp) => {
        await page.locator('#history').getByRole('button', { name }).last().click()
        await page.locator('#history button.copy', { hasText: 'Copied' }).waitFor()
        return page.evaluate(() => navigator.clipboard.readText())
      }
      expect(await copied(/^Copy the id/)).toBe('grant-40')
      expect(await copied(/^Copy the hash/)).toBe(hashOf(40))
    },
    SLOW_MS,
  )

  test(
    'zooms the chart with two fingers, and not the page',
    async () => {
      const { page, complaints } = await browser.open()
      const touch = await page.context().newCDPSession(page)
      await touch.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 })
      await page.goto(pathToFileURL(await reportOf('many', recordingOf(2_000))).href)
      const box = await page.locator('#nonces .u-over').boundingBox()
      if (box === null) throw new Error('there is no chart')
      const fingers = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...shares: readonly number[]) =>
        touch.send('Input.dispatchTouchEvent', {
          type,
          touchPoints: shares.map((share, id) => ({
            id,
            x: box.x + box.width * share,
            y: box.y + box.height / 2,
          })),
        })
      const whole = await pictureOf(page)
      await fingers('touchStart', 0.45, 0.55)
      for (const half of [0.1, 0.2, 0.3, 0.4]) await fingers('touchMove', 0.5 - half, 0.5 + half)
      await fingers('touchEnd')
      expect((await pictureOf(page)) === whole).toBe(false)
      await fingers('touchStart', 0.1, 0.9)
      for (const half of [0.3, 0.2, 0.1, 0.04]) await fingers('touchMove', 0.5 - half, 0.5 + half)
      await fingers('touchEnd')
      expect((await pictureOf(page)) === whole).toBe(true)
      expect(await page.evaluate(() => visualViewport?.scale)).toBe(1)
      expect(complaints).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'zooms to a transaction that is found by id, nonce or hash, and says when there is none',
    async () => {
      const { page, complaints } = await browser.open()
      await page.goto(pathToFileURL(await reportOf('many', recordingOf(2_000))).href)
      const whole = await pictureOf(page)
      for (const text of ['1234', hashOf(1_234), `${hashOf(1_234).slice(0, 8)}…${hashOf(1_234).slice(-4)}`]) {
        expect((await pictureOf(page)) === whole).toBe(true)
        await find(page, text)
        expect(await page.locator('#history h3').textContent()).toContain('-payment-1234')
        expect(await page.locator('.answer').textContent()).toMatch(/^Found .*-payment-1234: nonce 1234\./)
        // The transaction is in the middle of the chart.
        await page.locator('#nonces .u-over').hover()
        expect(await page.locator('#tip strong').textContent()).toContain('-payment-1234')
        await page.locator('#history').getByRole('button', { name: 'Close' }).click()
        await page.getByRole('button', { name: 'Show all' }).click()
      }
      await find(page, 'nowhere')
      expect(await page.locator('.answer').textContent()).toMatch(
        /^Nothing found: none of the 2,000 .*“nowhere”/,
      )
      expect(await page.locator('.answer').getAttribute('role')).toBe('status')
      expect(complaints).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'has a name and a table for each canvas, and everything can be reached with the keyboard',
    async () => {
      const { page, complaints } = await browser.open()
      await page.goto(pathToFileURL(await reportOf('stuck', stuckRecording())).href)
      const canvases = page.locator('canvas')
      expect(await canvases.count()).toBe(3)
      for (const canvas of await canvases.all()) {
        expect(await canvas.getAttribute('role')).toBe('img')
        expect((await canvas.getAttribute('aria-label'))?.length).toBeGreaterThan(40)
      }
      for (const text of ['transactions as a table', 'The bars as a table', 'The lines as a table']) {
        const summary = page.locator('summary', { hasText: text })
        await summary.focus()
        await page.keyboard.press('Enter')
        await summary.locator('xpath=..').locator('tbody tr').nth(1).waitFor()
      }
      await page.locator('#nonces').focus()
      const whole = await pictureOf(page)
      await page.keyboard.press('+')
      expect((await pictureOf(page)) === whole).toBe(false)
      await page.keyboard.press('0')
      expect((await pictureOf(page)) === whole).toBe(true)
      await page.keyboard.press('ArrowUp')
      const status = await page.locator('#status').textContent()
      await page.keyboard.press('Enter')
      const chosen = await page.locator('#history h3').textContent()
      expect(status).toContain(`transaction ${chosen},`)
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(chosen)
      await page.locator('#history').getByRole('button', { name: 'Close' }).press('Enter')
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('nonces')
      expect(await unreachable(page)).toEqual([])
      expect(complaints).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'shows on a phone the columns that matter, without scrolling sideways',
    async () => {
      const { page } = await browser.open()
      await page.setViewportSize({ width: 390, height: 800 })
      await page.goto(pathToFileURL(await reportOf('stuck', stuckRecording())).href)
      await fits(page)
      for (const summary of await page.locator('summary').all()) {
        const isOpen = await summary.evaluate((one) => (one.parentElement as HTMLDetailsElement).open)
        if (!isOpen) await summary.click()
      }
      await page.locator('#unfinished button', { hasText: 'grant-40' }).click()
      const names = page.locator('#unfinished th:visible')
      expect(await names.allInnerTexts()).toEqual(['transaction', 'why', 'for'])
      await fits(page)
      expect(await sideways(page)).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'prints in light colours, without buttons, and within the page',
    async () => {
      const { page } = await browser.open()
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.goto(pathToFileURL(await reportOf('stuck', stuckRecording())).href)
      await page.setViewportSize({ width: 700, height: 900 })
      const dark = await pictureOf(page)
      await page.emulateMedia({ colorScheme: 'dark', media: 'print' })
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(
        'rgb(255, 255, 255)',
      )
      await page.waitForFunction((before) => {
        const canvas = document.querySelector<HTMLCanvasElement>('#nonces canvas')
        return canvas?.toDataURL() !== before
      }, dark)
      for (const name of ['#theme', '#tools', '.copy'])
        expect(await page.locator(`${name}:visible`).count()).toBe(0)
      await fits(page)
    },
    SLOW_MS,
  )

  test(
    `of one transaction has at most ${PAGE_BYTES_MAX / 1_000} kB`,
    async () => {
      expect(statSync(await reportOf('one', textOf([HEADER, ...well(0, 1)]))).size).toBeLessThan(
        PAGE_BYTES_MAX,
      )
    },
    SLOW_MS,
  )

  test(
    'of 20,000 transactions is below 4 MB, and as usable',
    async () => {
      const file = await reportOf('large', recordingOf(20_000))
      expect(statSync(file).size).toBeLessThan(4_000_000)
      const { page, complaints } = await browser.open()
      await page.goto(pathToFileURL(file).href)
      expect(await colours(page, 'nonces')).toBeGreaterThan(5)
      await pointAtSome(page)
      expect(await page.locator('#tip').textContent()).toContain('payment')
      await page.keyboard.down('Control')
      for (let step = 0; step < 5; step++) await page.mouse.wheel(0, -300)
      await page.keyboard.up('Control')
      await pointAtSome(page)
      expect(complaints).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'is not made of an empty recording',
    async () => {
      await recordTo(join(folder, 'empty.jsonl')).close()
      await expect(reportOf('empty')).rejects.toThrow(/^empty\.jsonl: the recording is empty/)
      expect(existsSync(join(folder, 'empty.html'))).toBe(false)
    },
    SLOW_MS,
  )
})

/** The controls that the tab key skips. */
async function unreachable(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('button, a, input, select, summary, #nonces')]
      .filter((one) => one.tabIndex < 0)
      .map((one) => one.outerHTML),
  )
}

/** The tables that are wider than their place. */
async function sideways(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('.scroll')]
      .filter((one) => one.scrollWidth > one.clientWidth + 1)
      .map((one) => one.querySelector('table')?.getAttribute('aria-label') ?? ''),
  )
}
