import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { ask, confirm, type Terminal } from './terminal.js'

/** A terminal, and a person who types an answer once the text is on the screen. */
function terminal(answers: readonly (readonly [shown: string, typed: string])[] = []) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
  const stderr = new PassThrough()
  const left = [...answers]
  let screen = ''
  stderr.on('data', (chunk: Buffer) => {
    screen += chunk.toString()
    if (left[0] !== undefined && screen.includes(left[0][0])) stdin.write(left.shift()?.[1] ?? '')
  })
  return { stdin, stderr, screen: () => screen } satisfies Terminal & { screen: () => string }
}

test.each([
  ['y\n', true],
  ['YES\n', true],
  ['\n', false],
  ['n\n', false],
  ['yesterday\n', false],
])('%j typed at the question is %s', async (typed, agreed) => {
  expect(await confirm('Send it?', '--yes', terminal([['Send it?', typed]]))).toBe(agreed)
})

test('a question that is longer than the line breaks between words, and leaves room for the answer', async () => {
  const narrow = terminal([['[y/N]', 'y\n']])
  Object.assign(narrow.stderr, { isTTY: true, columns: 40 })
  const question = 'Send 3 lines, 0.500000020000000001 ETH, on chain 31337?'
  expect(await confirm(question, '--yes', narrow)).toBe(true)
  const shown = stripVTControlCharacters(narrow.screen()).split(/[\r\n]+/)
  expect(shown.slice(0, 3)).toEqual([
    'Send 3 lines, 0.500000020000000001',
    'ETH, on chain 31337? [y/N] y',
    '',
  ])
})

test('a line that was typed before the question is no answer to it', async () => {
  const early = terminal([['Send it?', 'n\n']])
  early.stdin.write('y\ny')
  expect(await confirm('Send it?', '--yes', early)).toBe(false)
})

test('the answer is the text without spaces around it, and none after Ctrl-C and at the end of the input', async () => {
  expect(await ask('Amount: ', '--yes', terminal([['Amount:', ' 20.1 ETH \n']]))).toBe('20.1 ETH')
  expect(await ask('Amount: ', '--yes', terminal([['Amount:', '\u0003']]))).toBeUndefined()
  const ended = terminal()
  ended.stderr.on('data', () => ended.stdin.end())
  expect(await ask('Amount: ', '--yes', ended)).toBeUndefined()
})

test('refuses to ask without a terminal, and names the option', async () => {
  const none = Object.assign(terminal(), { stdin: Object.assign(new PassThrough(), { setRawMode() {} }) })
  await expect(ask('Amount: ', '--yes', none)).rejects.toThrow('give --yes')
})
