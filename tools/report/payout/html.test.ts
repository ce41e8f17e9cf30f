import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { payoutPage } from './html.js'
import { CHAIN, ETH, HOSTILE, landed, largeReport, line, someReport } from './payout.fixture.js'

const SCRIPT = "console.log('</script>')"

const pageOf = (...given: Parameters<typeof someReport>) => payoutPage(someReport(...given), SCRIPT, 'a.csv')

/** The text of the page without markup. */
const textOf = (page: string) =>
  (/<body>(.*)<script type/s.exec(page)?.[1] ?? '').replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

describe('the page of a payout', () => {
  test('allows its own script and style by their hashes, and no request', () => {
    const page = pageOf()
    const [, style = ''] = /<style>(.*?)<\/style>/s.exec(page) ?? []
    const [, script = ''] = /<script>(.*?)<\/script>\n<\/body>/s.exec(page) ?? []
    const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    const [, policy] = /Content-Security-Policy" content="([^"]*)"/.exec(page) ?? []
    expect(policy).toBe(
      `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`,
    )
    expect(page.indexOf('Content-Security-Policy')).toBeLessThan(page.indexOf('<style'))
    expect(page).not.toMatch(/\b(?:src|style|on\w+)=/)
    expect(page).not.toContain('@import')
    expect(style).not.toContain('url(')
  })

  test('has no working markup from the file, its tokens or its chain', () => {
    const evil = {
      id: HOSTILE,
      name: HOSTILE,
      note: HOSTILE,
      error: HOSTILE,
      money: { ...ETH, symbol: HOSTILE },
    }
    const page = pageOf({
      file: HOSTILE,
      chain: { ...CHAIN, name: HOSTILE, symbol: HOSTILE, explorer: `https://a.b/${HOSTILE}` },
      lines: [landed(2, evil), line(3, { ...evil, status: 'failed' })],
    })
    expect(page).not.toContain('<img')
    expect(page).not.toContain('<!--')
    expect(page.match(/<script\b/g)).toHaveLength(2)
    expect(page.match(/<\/script/g)).toHaveLength(2)
    expect(page).not.toMatch(/\sonerror="/)
  })

  test('says at its top how many lines were paid', () => {
    const verdict = (page: string) => /<p id="verdict" class="(\w+)">(.*?)<\/p>/.exec(page)?.slice(1)
    expect(verdict(pageOf())).toEqual(['bad', '33 of 40 lines are paid; 4 not paid, 3 not certain yet.'])
    expect(verdict(pageOf({ lines: [landed(2), landed(3)] }))).toEqual(['good', 'All 2 lines are paid.'])
    expect(verdict(pageOf({ lines: [line(2, { status: 'open' })] }))).toEqual([
      'bad',
      '0 of 1 line are paid; 1 not certain yet.',
    ])
    expect(verdict(pageOf({ lines: [] }))).toEqual(['bad', 'The file has no lines: nothing was paid.'])
  })

  test('names the payer, the chain, the time with its zone, the fees and the totals', () => {
    const text = textOf(pageOf())
    expect(text).toContain('Paid by the account 0x709979…79C8')
    expect(text).toContain('Base (chain 8453)')
    expect(text).toContain('29 November 2026, begun at 14:01, paid at 14:02 UTC')
    expect(text).toContain('34; one transaction pays up to 3 lines')
    expect(text).toContain('0.000039271604628875 ETH on top of the amounts')
    expect(text).toContain('USDC token 0x833589…2913')
    expect(text).toContain('a.csv has the same lines')
  })

  test('names each day of a payout that took several', () => {
    const lines = [landed(2, { time: '2026-11-30T23:59:00Z' }), landed(3, { time: '2026-12-01T00:01:00Z' })]
    expect(textOf(pageOf({ lines }))).toContain(
      '29 November 2026, begun at 14:01, paid from 30 November 2026, 23:59 to 1 December 2026, 00:01 UTC',
    )
  })

  test('explains each way not to be paid, with its reason and its remedy', () => {
    const text = textOf(pageOf())
    for (const heading of [
      'Unclear whether paid (1 line)',
      'Not finished when this report was made (2 lines)',
      'Not paid: undone by the chain (1 line)',
      'Not paid: not sent (2 lines)',
      'Not paid: cancelled on request (1 line)',
    ])
      expect(text).toContain(heading)
    expect(text.match(/To do:/g)).toHaveLength(5)
    expect(text).toContain('Reported: STARVED: The account cannot pay 0.5 ETH.')
    expect(textOf(pageOf({ lines: [landed(2)] }))).not.toContain('need attention')
  })

  test('links to the explorer of the chain, and has no link without one', () => {
    const [{ to, hash } = landed(2)] = someReport().lines
    const page = pageOf()
    expect(page).toContain(`href="https://basescan.org/address/${to}"`)
    expect(page).toContain(`href="https://basescan.org/tx/${hash}"`)
    for (const explorer of [undefined, 'javascript:alert(1)']) {
      const without = pageOf({ chain: { ...CHAIN, explorer } })
      expect(without).not.toContain('href=')
      expect(without).toContain(`title="${hash}"`)
    }
  })

  test('shows that a transaction paid several lines', () => {
    expect(pageOf().match(/pays 3 lines/g)).toHaveLength(3)
  })

  test('has no column for ids that txlane made, if there are no notes', () => {
    const lines = [landed(2, { id: '0123456789abcdef-1', note: undefined })]
    expect(pageOf({ lines })).not.toContain('>For<')
    expect(pageOf({ lines })).not.toContain('0123456789abcdef-1')
  })

  test('of forty lines is below 110 kB without its script; each cell of a line is bounded', () => {
    expect(pageOf().length).toBeLessThan(110_000)
    const long = '<'.repeat(100_000)
    const page = pageOf({
      lines: [landed(2, { id: long, note: long, name: long, money: { ...ETH, symbol: long } })],
    })
    expect(page.length).toBeLessThan(40_000)
  })

  test('of many lines has the first 500 as HTML, and all in its data, at 120 bytes each', () => {
    const count = 10_000
    const page = payoutPage(largeReport(count), SCRIPT)
    expect(page.match(/<tr role="row" class="paid">/g)).toHaveLength(500)
    expect(page.length - payoutPage(largeReport(500), SCRIPT).length).toBeLessThan(120 * count)
  })
})
