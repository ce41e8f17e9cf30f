import { describe, expect, test } from 'vitest'
import { HOSTILE } from './payout.fixture.js'
import { folded, foreignText, plainText } from './text.js'

const codes = (text: string) =>
  [...foreignText(text, 100).matchAll(/<i class="code">(.*?)<\/i>/g)].map(([, code]) => code)

describe('a text from outside', () => {
  test('has no working markup', () => {
    const html = foreignText(HOSTILE, 500)
    expect(html).not.toMatch(/<(?!\/?bdi>)/)
    expect(html).toContain('&lt;/script&gt;&lt;img src=x onerror=&quot;')
  })

  test.each([
    ['an override of the direction', 'safe\u202egpj.exe', ['U+202E']],
    ['isolates', '\u2066a\u2069', ['U+2066', 'U+2069']],
    ['control characters', 'a\u0000b\u0007c\u009b', ['U+0000', 'U+0007', 'U+009B']],
    ['spaces without width', 'vita\u200blik\u2060', ['U+200B', 'U+2060']],
    ['half of a character', 'a\ud800b', ['U+D800']],
  ])('shows the codes of %s', (_, text, shown) => {
    expect(codes(text)).toEqual(shown)
  })

  test.each(['👩‍👩‍👧‍👦', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'मुंबई', 'مكافأة', 'می‌خواهم', 'Nguyễn', 'Ελλάδα'])(
    'keeps %s as it is',
    (text) => {
      expect(foreignText(text, 100)).toBe(`<bdi>${text}</bdi>`)
    },
  )

  test('has one line and a limited length, and ends between characters', () => {
    expect(foreignText(' a\r\n\tb ', 10)).toBe('<bdi>a b</bdi>')
    expect(foreignText('abcdef', 3)).toBe('<bdi>abc</bdi>…')
    expect(foreignText('ab🎉d', 3)).toBe('<bdi>ab</bdi>…')
  })

  test('has at most four accents on a letter', () => {
    expect(foreignText(`a${'\u0301'.repeat(50)}b`, 100)).toBe(`<bdi>a${'\u0301'.repeat(4)}b</bdi>`)
  })

  test('replaces hidden characters in the title of the window by spaces', () => {
    expect(plainText('a\u202eb\u0000', 10)).toBe('a b ')
  })
})

test('a search ignores case, accents and the width of letters', () => {
  expect(folded('MÜNCHEN Ｃａｆé')).toBe('munchen cafe')
})
