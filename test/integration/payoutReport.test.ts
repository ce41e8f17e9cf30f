import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CHAIN,
  ETH,
  HOSTILE,
  landed,
  largeReport,
  line,
  someReport,
} from '../../tools/report/payout/payout.fixture.js'
import type { PayoutReport } from '../../tools/report/payout/payout.js'
import { payoutPaths, writePayoutReport } from '../../tools/report/payoutFiles.js'
import { type Browser, CHROMIUM, hasChromium, startBrowser } from '../support/chromium.js'

const SLOW_MS = 600_000

const folder = mkdtempSync(join(tmpdir(), 'txlane-payout-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function urlOf(name: string, report: PayoutReport): Promise<string> {
  const paths = payoutPaths(join(folder, name))
  await writePayoutReport(report, paths)
  return pathToFileURL(paths.page).href
}

const hostile = (): PayoutReport => {
  const texts = [HOSTILE, 'safe\u202egpj.exe', 'a\u0000b\u200b', 'x'.repeat(10_000), '\u0301'.repeat(500)]
  return someReport({
    file: `${HOSTILE}.csv`,
    chain: { ...CHAIN, name: HOSTILE, symbol: HOSTILE, explorer: 'javascript:alert(1)' },
    lines: texts.flatMap((text, index) => [
      landed(2 * index, {
        id: text,
        name: text,
        note: text,
        money: { ...ETH, symbol: text },
        amount: 2n ** 255n,
      }),
      line(2 * index + 1, { id: text, note: text, status: 'failed', error: text }),
    ]),
  })
}

test('the page and the accounting file stand beside the file, and only their owner reads them', async () => {
  const paths = payoutPaths(join(folder, 'november.csv'))
  await writePayoutReport(someReport(), paths)
  await writePayoutReport(someReport({ lines: [landed(2)] }), paths)
  expect(paths.page).toBe(join(folder, 'november.csv.report.html'))
  expect(await readFile(paths.page, 'utf8')).toContain('The line is paid.')
  expect((await readFile(paths.accounting, 'utf8')).trim().split('\r\n')).toHaveLength(2)
  for (const path of Object.values(paths)) expect(statSync(path).mode & 0o777).toBe(0o600)
})

describe.skipIf(!hasChromium)(`the page of a payout (skipped without a Chromium at ${CHROMIUM})`, () => {
  let browser: Browser
  let some: string
  beforeAll(async () => {
    browser = await startBrowser()
    some = await urlOf('some.csv', someReport())
  }, SLOW_MS)
  afterAll(() => browser?.[Symbol.asyncDispose](), SLOW_MS)

  async function opened(url = some): Promise<{ page: Page; complaints: string[]; requests: string[] }> {
    const one = await browser.open()
    await one.page.goto(url)
    await one.page.locator('#tools').waitFor()
    return one
  }

  test(
    'fits the screen at every width, in light and dark, with hostile texts too, and makes no request',
    async () => {
      for (const url of [some, await urlOf('hostile.csv', hostile())]) {
        const { page, complaints, requests } = await opened(url)
        const grounds = new Set<string>()
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          for (const width of [320, 390, 768, 1_000, 1_024, 1_300]) {
            await page.setViewportSize({ width, height: 800 })
            expect([colorScheme, width, await widest(page)]).toEqual([colorScheme, width, width])
          }
          grounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
          expect(await lowContrasts(page)).toEqual([])
        }
        expect(grounds.size).toBe(2)
        expect(complaints).toEqual([])
        expect(requests).toEqual([url])
        expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined()
        expect(await page.locator('img').count()).toBe(0)
      }
    },
    SLOW_MS,
  )

  test(
    'has named controls, real tables and a complete outline, on a phone too',
    async () => {
      const { page } = await opened()
      for (const width of [1_300, 390]) {
        await page.setViewportSize({ width, height: 800 })
        expect(await faults(page)).toEqual([])
        const tree = await page.locator('#lines').ariaSnapshot()
        expect(tree).toMatch(/^- table "All lines of the file with their results":/)
        expect(tree).toMatch(/columnheader "Amount":?\n\s+- button "Amount"/)
        expect(tree).toMatch(/rowheader "(?:Line )?2"/)
        expect(tree).toContain('button "Copy the address of line 2"')
      }
      await page.locator('.tx button.copy').last().click()
      expect(await page.locator('#said').textContent()).toMatch(/^Copied: 0x[0-9a-f]{64}$/)
    },
    SLOW_MS,
  )

  test(
    'is used with the keyboard alone',
    async () => {
      const { page } = await opened()
      await walkTo(page, 'search')
      await page.keyboard.type('person')
      expect(await page.locator('#lines tbody tr').count()).toBe(4)
      await walkTo(page, 'choice')
      const outline = () =>
        page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle)
      expect(await outline()).toBe('solid')
      for (let tabs = 0; tabs < 4; tabs++) await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Amount')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Enter')
      expect(await page.locator('th[aria-sort]').allInnerTexts()).toEqual(['Amount'])
      expect(await page.locator('th[aria-sort=descending]').count()).toBe(1)
    },
    SLOW_MS,
  )

  test(
    'finds lines, says when there are none, and sorts amounts as numbers within a currency',
    async () => {
      const { page, complaints } = await opened()
      const found = page.locator('#found')
      await page.locator('#search').fill('person34')
      expect(await found.textContent()).toBe('1 of 40 lines; paid in them: 999.99 USDC.')
      await page.locator('#search').fill('no such text')
      expect(await found.textContent()).toBe('There is no line with “no such text”.')
      expect(await page.locator('#lines').isVisible()).toBe(false)
      await page.locator('#search').fill('')
      await page.locator('#choice').selectOption('paid')
      await page.locator('th.amount button').click()
      const amounts = await page.locator('#lines tbody .amount').allInnerTexts()
      const ofSymbol = (symbol: string) =>
        amounts
          .filter((text) => text.includes(symbol))
          .map((text) => Number(text.replaceAll(',', '').split(/\s/)[0]))
      for (const symbol of ['USDC', 'ETH'])
        expect(ofSymbol(symbol)).toEqual(ofSymbol(symbol).toSorted((a, b) => a - b))
      expect(amounts.map((text) => /ETH|USDC/.exec(text)?.[0]).join(' ')).toMatch(
        /^(?:USDC ?){26}(?:ETH ?){7}$/,
      )
      expect(complaints).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'prints whole hashes on numbered sheets that repeat the header and cut no row',
    async () => {
      const { page, complaints } = await opened()
      const short = await page.pdf({ preferCSSPageSize: true })
      expect(sheetsOf(short)).toBeGreaterThan(3)
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
      const printed = await page.evaluate(() => {
        const style = (selector: string, pseudo?: string) =>
          getComputedStyle(document.querySelector(selector) as Element, pseudo)
        return {
          ground: style('body').backgroundColor,
          header: style('#lines thead').display,
          title: style('#lines th.amount', '::before').content,
          row: style('#lines tbody tr').breakInside,
          hash: style('#lines .tx .hex', '::before').content,
          tools: style('#tools').display,
          copy: style('button.copy').display,
        }
      })
      expect(printed).toMatchObject({
        ground: 'rgb(255, 255, 255)',
        header: 'table-header-group',
        title: '"Amount"',
        row: 'avoid',
        tools: 'none',
        copy: 'none',
      })
      expect(printed.hash).toMatch(/^"0x[0-9a-f]{64}"$/)
      for (const width of [980, 1_030]) {
        await page.setViewportSize({ width, height: 700 })
        expect(await widest(page)).toBe(width)
      }
      expect(complaints).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'shows its first lines without scripts',
    async () => {
      const { page } = await browser.open()
      const session = await page.context().newCDPSession(page)
      await session.send('Emulation.setScriptExecutionDisabled', { value: true })
      await page.goto(some)
      expect(await page.locator('#lines tbody tr').count()).toBe(40)
      expect(await page.locator('#tools').isVisible()).toBe(false)
    },
    SLOW_MS,
  )

  test(
    'of 200,000 lines is below 25 MB, opens, searches, turns its pages, and names the lines that it prints',
    async () => {
      const url = await urlOf('large.csv', largeReport())
      expect(statSync(new URL(url)).size).toBeLessThan(25_000_000)
      const { page, complaints } = await opened(url)
      expect(await page.locator('#lines tbody tr').count()).toBe(500)
      await page.locator('#pages button', { hasText: 'Last' }).click()
      expect(await page.locator('#pages span').textContent()).toBe('Page 400 of 400')
      expect(await page.locator('#lines tbody th').last().textContent()).toBe('200001')
      await page.locator('#search').fill('invoice-123456')
      expect(await page.locator('#found').textContent()).toMatch(/^1 of 200,000 lines/)
      expect(await page.locator('#pages').isVisible()).toBe(false)
      await page.locator('#search').fill('')
      await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
      expect(await page.locator('#lines tbody tr').count()).toBe(2_000)
      expect(await page.locator('#found').textContent()).toContain('Printed are the first 2,000 of 200,000.')
      await page.evaluate(() => dispatchEvent(new Event('afterprint')))
      expect(await page.locator('#lines tbody tr').count()).toBe(500)
      expect(complaints).toEqual([])
    },
    SLOW_MS,
  )
})

const widest = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth)

/** Skia writes the page objects uncompressed. */
const sheetsOf = (pdf: Buffer): number => pdf.toString('latin1').match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0

const TABS_MAX = 200

/** Presses Tab until the element has the focus. */
async function walkTo(page: Page, id: string): Promise<void> {
  for (let tabs = 0; tabs < TABS_MAX; tabs++) {
    await page.keyboard.press('Tab')
    if ((await page.evaluate(() => document.activeElement?.id)) === id) return
  }
  throw new Error(`the keyboard does not reach #${id}`)
}

/** Faults of the markup: controls without a name, tables without a caption, cells without a scope, headings out of order. */
function faults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)]
    const named = (node: HTMLElement) =>
      (node.getAttribute('aria-label') ?? node.textContent ?? '').trim() !== '' ||
      node.closest('label') !== null
    const found = [
      ...all('a, button, input, select')
        .filter((node) => !named(node))
        .map((node) => `no name: ${node.outerHTML}`),
      ...all('table')
        .filter((node) => !node.querySelector('caption')?.textContent)
        .map(() => 'no caption'),
      ...all('th:not([scope])').map((node) => `no scope: ${node.textContent}`),
      ...all('a[target=_blank]:not([rel~=noopener])').map((node) => `opener: ${node.outerHTML}`),
      ...all('section, nav')
        .filter((node) => !node.hasAttribute('aria-label') && !node.hasAttribute('aria-labelledby'))
        .map((node) => `no label: ${node.id}`),
    ]
    const ids = all('[id]').map(({ id }) => id)
    if (new Set(ids).size < ids.length) found.push('an id twice')
    if (document.documentElement.lang !== 'en') found.push('no language')
    const levels = all('h1, h2, h3').map(({ tagName }) => Number(tagName.slice(1)))
    if (levels.filter((level) => level === 1).length !== 1) found.push('not one h1')
    for (const [index, level] of levels.entries())
      if (index > 0 && level > (levels[index - 1] ?? 0) + 1) found.push(`heading ${index} skips a level`)
    return found
  })
}

/** Texts with a contrast below 4.5 (WCAG AA), by the colours that the browser uses. */
function lowContrasts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const channels = (colour: string) => colour.match(/[\d.]+/g)?.map(Number) ?? []
    const luminance = (colour: string) => {
      const [r = 0, g = 0, b = 0] = channels(colour).map((value) => {
        const share = value / 255
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const ground = (node: Element | null): string => {
      if (node === null) return 'rgb(255, 255, 255)'
      const { backgroundColor } = getComputedStyle(node)
      return channels(backgroundColor)[3] === 0 ? ground(node.parentElement) : backgroundColor
    }
    const low = new Set<string>()
    for (const node of document.querySelectorAll('body *')) {
      const hasText = [...node.childNodes].some(
        ({ nodeType, textContent }) => nodeType === 3 && textContent?.trim(),
      )
      if (!hasText || node.closest('script, noscript, [hidden]')) continue
      const [a, b] = [luminance(getComputedStyle(node).color), luminance(ground(node))]
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      if (contrast < 4.5) low.add(`${node.tagName}.${node.className}: ${contrast.toFixed(2)}`)
    }
    return [...low]
  })
}
