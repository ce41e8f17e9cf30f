import fc from 'fast-check'
import { english, generateMnemonic } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { REDACTED_CHARS_MAX, redactForeign, redactRuns, redactText } from './redact.js'
import { redactTokens, textOf, tokensOf } from './redactTokens.js'
import { redactUrl } from './redactUrl.js'
import { PROSE } from './secretWords.js'

const KEY = `0x${'4f'.repeat(31)}a1`
const HASH = `0x${'c0ffee'.repeat(10)}abcd`
const API_KEY = 'k3Xv9-Qw7LmZ2pR8tYb4NcD6'
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const SIGNED = `0x02f8${'ab12'.repeat(60)}`

describe('a redacted text contains nothing that gives access', () => {
  it.each<[what: string, text: string, secret: string]>([
    ['the path of a URL', `cannot reach https://rpc.example.com/v2/${API_KEY}`, API_KEY],
    ['a URL that goes on behind a bracket', `at https://rpc.example.com/v2/a(${API_KEY})b`, API_KEY],
    ['a URL with backslashes', `at https://rpc.example.com\\v2\\${API_KEY}`, API_KEY],
    ['a URL with one slash', `at https:/rpc.example.com/v2/${API_KEY}`, API_KEY],
    ['a URL without a scheme', `Failed to parse URL from rpc.example.com/v2/${API_KEY}`, API_KEY],
    ['a URL without a scheme, whose host has no dot', 'Failed to parse URL from host/v2/KEY', 'KEY'],
    ['a URL without a scheme, with a port', `got localhost:8545/${API_KEY}`, API_KEY],
    ['the path of a request', `Cannot POST /v2/${API_KEY}`, API_KEY],
    ['a WebSocket URL', `wss://rpc.example.com/ws/${API_KEY} closed`, API_KEY],
    ['a Redis URL', 'redis://user:hunter2@cache:6379/0', 'hunter2'],
    ['a password that ends the host too early', 'postgres://user:hun#ter2@db/x', 'hun'],
    ['user and password without a scheme', 'user:hunter2@db.example.com/x', 'hunter2'],
    ['a Basic credential', 'Basic dXNlcjpodW50ZXIy', 'dXNlcjpodW50ZXIy'],
    ['a Bearer token', 'Authorization: Bearer abcdefgh', 'abcdefgh'],
    ['a Bearer token that a name announces', '&auth= Bearer abcdefgh', 'abcdefgh'],
    ['a JSON web token', 'got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 'c2ln'],
    ['an API key in a query', '?apikey=abc&x=1', 'abc'],
    ['an API key in a header', "headers: { 'x-api-key': 'abc' }", 'abc'],
    ['an API key in a list of headers', "[ 'x-api-key', 'abc' ]", 'abc'],
    ['an API key in JSON inside JSON', '{\\"apiKey\\":\\"abc def\\",\\"x\\":1}', 'def'],
    ['a password in quotes', 'password="hunter2 and more" user=x', 'more'],
    ['a key behind a space', `invalid private key ${KEY}`, KEY.slice(2)],
    ['a key some words on', `the private key of the account, (${KEY})`, KEY.slice(2)],
    ['a key that lost a digit', `cannot read ${KEY.slice(0, -1)}`, KEY.slice(2, -1)],
    ['a mnemonic after its first word', `mnemonic: ${PHRASE} is wrong`, 'winner'],
    ['a mnemonic without an announcement', `cannot sign with ${PHRASE}`, 'winner'],
    ['a mnemonic as a list', JSON.stringify(PHRASE.split(' ')), 'winner'],
    ['a short mnemonic that was announced', 'seed phrase: "legal winner thank"', 'winner'],
    ['signed bytes', `{"method":"eth_sendRawTransaction","params":["${SIGNED}"]}`, SIGNED.slice(10)],
    ['signed bytes in another order', `{"params":["${SIGNED}"],"method":"x"}`, SIGNED.slice(10)],
    ['a key printed as a buffer', `<Buffer ${'4f '.repeat(31)}a1>`, '4f 4f'],
    ['a key printed as numbers', `[${Array(32).fill('123').join(',')}]`, '123,123'],
  ])('%s', (_, text, secret) => {
    expect(redactForeign(text)).not.toContain(secret)
  })

  it.each([':', ' ', '=', ' (', '"', '\n', ',', ' is ', ' -> ', '#', '/'])(
    'a private key that foreign text announces with %j',
    (separator) => {
      expect(redactForeign(`cannot sign with${separator}${KEY}`)).not.toContain(KEY.slice(2))
    },
  )
})

describe('words that help to understand a failure are kept', () => {
  it.each([
    `transaction ${HASH} was not found`,
    `{"hash":"${HASH}","blockHash":"${HASH}"}`,
    `block with hash ${HASH}`,
    'nonce too low: next nonce 5, tx nonce 3',
    'connect ECONNREFUSED 127.0.0.1:8545',
    'Geth/v1.14.8-stable-a9523b64/linux-amd64/go1.22.6',
    'reth/v1.0.6-c228fe1/x86_64-unknown-linux-gnu',
    'Version: viem@2.57.1',
    '    at read (file:///srv/node_modules/.pnpm/viem@2.57.1_a1b2c3d4e5f6a7b8/x.js:10:5)',
    '--rpc expects a URL that begins with http:// or https://.',
    'expected <url> got undefined',
    'Invalid token: expected an address, got undefined.',
    'Bearer token is missing, Basic authentication is required',
    'the account could not be read because the node did not answer within ten seconds after three tries',
    'execution reverted: ERC20: transfer amount exceeds balance',
    'Unexpected token } in JSON at position 5',
    'application/json, text/plain and n/a',
    'token: 0x1111111111111111111111111111111111111111',
  ])('%s', (text) => {
    expect(redactForeign(text)).toBe(text)
  })

  it("a hash in the library's own text is kept after any word", () => {
    expect(redactText(`Sent as ${HASH}.`)).toBe(`Sent as ${HASH}.`)
    expect(redactForeign(`Sent as ${HASH}.`)).not.toContain(HASH)
  })

  it('no hash is kept in text of code that knows a key', () => {
    expect(redactForeign(`cannot sign transaction ${KEY}`, 'never')).not.toContain(KEY.slice(2))
  })

  it('redacting a redacted text changes nothing', () => {
    const once = redactForeign(`password=x https://h.example/${API_KEY} mnemonic: ${PHRASE}`)
    expect(redactForeign(once)).toBe(once)
  })
})

it('no prose word is a mnemonic word', () => {
  expect(english.filter((word) => PROSE.has(word))).toEqual([])
})

it.each([
  ['https://user:pass@rpc.example.com/v2/key?x#y', 'https://rpc.example.com'],
  ['rpc.example.com/v2/key', 'rpc.example.com'],
  ['localhost:8545/key', 'localhost:8545'],
  ['host/v2/key', '<url>'],
  ['https://user:12#34@host', '<url>'],
  ['no URL at all', '<url>'],
])('the URL %s is reduced to %s', (url, left) => {
  expect(redactUrl(url)).toBe(left)
})

// --- planted secrets --------------------------------------------------------------------------------------------------

const base62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const letters = (from: string, min: number, max = min) =>
  fc.string({ unit: fc.constantFrom(...from), minLength: min, maxLength: max })
/**
 * Keys in the form that providers issue. A key with almost no digits and capitals cannot be distinguished
 * from a word.
 */
const apiKey = letters(base62, 32).filter((key) => /\d.*\d.*\d.*\d/.test(key) && /[A-Z].*[A-Z]/.test(key))
const hex = (chars: number) =>
  fc
    .tuple(letters('0123456789abcdef', chars), fc.boolean())
    .map(([digits, upper]) => (upper ? digits.toUpperCase() : digits))

type Planted = { readonly text: string; readonly secrets: readonly string[] }

const url: fc.Arbitrary<Planted> = fc
  .tuple(
    fc.constantFrom(
      'http',
      'https',
      'ws',
      'wss',
      'redis',
      'rediss',
      'postgres',
      'postgresql',
      'mongodb+srv',
      'amqp',
    ),
    apiKey,
    apiKey,
    apiKey,
    apiKey,
  )
  .map(([scheme, user, password, path, query]) => ({
    text: `${scheme}://${user}:${password}@rpc.example.com:8545/v2/${path}?apikey=${query}`,
    secrets: [user, password, path, query],
  }))

const planted: Readonly<Record<string, fc.Arbitrary<Planted>>> = {
  'a URL': url,
  'a URL without a scheme': fc
    .tuple(fc.constantFrom('rpc.example.com', 'localhost:8545', '10.0.0.1', 'host', 'my-node'), apiKey)
    .map(([host, key]) => ({ text: `${host}/v2/${key}`, secrets: [key] })),
  'user and password': fc
    .tuple(apiKey, apiKey)
    .map(([user, password]) => ({ text: `${user}:${password}@db.example.com`, secrets: [user, password] })),
  'a header': fc
    .tuple(
      fc.constantFrom('Bearer ', 'Basic ', 'x-api-key: ', 'apiKey=', 'token="', 'Authorization: Basic '),
      apiKey,
    )
    .map(([name, key]) => ({ text: `${name}${key}`, secrets: [key] })),
  'a query': fc
    .tuple(fc.constantFrom('apikey', 'key', 'auth', 'x'), apiKey)
    .map(([name, key]) => ({ text: `/v2?a=1&${name}=${key}`, secrets: [key] })),
  'a mnemonic': fc
    .tuple(
      fc.constantFrom(128, 160, 192, 224, 256) as fc.Arbitrary<128>,
      fc.constantFrom(' ', ', ', '\n', '","', ',', '%20'),
    )
    .map(([strength, joined]) => {
      const words = generateMnemonic(english, strength).split(' ')
      // No other part of the text contains these two consecutive words.
      return {
        text: `${words.join(joined)}.`,
        secrets: words.slice(1).map((word, at) => `${words[at]}${joined}${word}`),
      }
    }),
  'a private key': fc
    .tuple(fc.constantFrom('', '0x', '0X'), hex(64))
    .map(([prefix, key]) => ({ text: `${prefix}${key}`, secrets: [key] })),
  'signed bytes': fc
    .tuple(hex(220), fc.constantFrom('0x02f86c', '0xf86b', '0x04f901'), fc.boolean())
    .map(([bytes, head, first]) => ({
      text: first
        ? `{"params":["${head}${bytes}"],"method":"eth_sendRawTransaction"}`
        : `{"method":"eth_sendRawTransaction","id":1,"params":["${head}${bytes}"]}`,
      secrets: [bytes, bytes.slice(0, 40), bytes.slice(-40)],
    })),
}

// Texts of errors, and texts that break patterns. None of them calls the following value a hash.
const NOISE = [
  'nonce too low',
  'the',
  'key',
  'token',
  'Bearer',
  'basic',
  'password',
  'mnemonic',
  'URL',
  'failed',
  'https',
  '0x',
  '0xabc',
  '://',
  '@',
  ':',
  '=',
  '?',
  '&',
  '/',
  '\\',
  '\\"',
  '"',
  "'",
  '`',
  '(',
  ')',
  '[',
  '{',
  '}',
  '<',
  ',',
  '.',
  '…',
  'ä',
  '😀',
  '\0',
  '\n',
  '\t',
  ' ',
]
const noise = fc.array(fc.constantFrom(...NOISE), { maxLength: 12 }).map((parts) => parts.join(''))
const EDGES = [' ', '\n', '\t', '"', "'", ' (', ' [', ' {', ': ', ' <', ', ']
const edge = fc.constantFrom(...EDGES)
const end = fc.constantFrom(' ', '\n', '"', "'", ')', ']', '}', '>', ', ', '. ', '')

describe('no planted secret survives in hostile noise', () => {
  it('a private key in base64, in text of code that knows it', () => {
    const key = fc
      .noBias(fc.uint8Array({ minLength: 32, maxLength: 32 }))
      .map((bytes) => Buffer.from(bytes))
      // A value with repeated bytes does not look like a key.
      .filter((bytes) => new Set(bytes).size > 24)
    const encoding = fc.constantFrom('base64', 'base64url') as fc.Arbitrary<BufferEncoding>
    fc.assert(
      fc.property(noise, edge, key, encoding, end, noise, (ahead, before, bytes, as, after, behind) => {
        const text = bytes.toString(as)
        const safe = redactForeign(`${ahead}${before}${text}${after}${behind}`, 'never')
        for (let at = 0; at + 12 <= text.length; at++) expect(safe).not.toContain(text.slice(at, at + 12))
      }),
      { numRuns: runsOf(1_000) },
    )
  })

  it.each([
    ['behind a name without a value', '?.= token="AAAAAAAAAAAAAA1A0AAAA85AAAAAAAAA'],
    ['in quotes behind a name without a value', '&the="token="AAAAAAAAAAAAAA1A0AAAA85AAAAAAAAA'],
  ])('a value whose name looks like a value, %s', (_, text) => {
    expect(redactForeign(text)).not.toContain('AAAA85')
  })

  it.each(Object.entries(planted))('%s', (_, secret) => {
    fc.assert(
      fc.property(noise, edge, secret, end, noise, (ahead, before, { text, secrets }, after, behind) => {
        const whole = `${ahead}${before}${text}${after}${behind}`
        for (const safe of [redactForeign(whole, 'never'), redactForeign(whole)])
          for (const one of secrets) expect(safe.toLowerCase()).not.toContain(one.toLowerCase())
      }),
      { numRuns: runsOf(400) },
    )
  })

  it.each(Object.entries(planted))('if the text is truncated: %s', (_, secret) => {
    fc.assert(
      fc.property(secret, fc.integer({ min: -800, max: 800 }), ({ text, secrets }, shift) => {
        const ahead = 'nonce the '
          .repeat(Math.ceil((REDACTED_CHARS_MAX + 800) / 10))
          .slice(0, REDACTED_CHARS_MAX + shift)
        const safe = redactForeign(`${ahead} ${text} ${'x '.repeat(2_000)}`, 'never')
        expect(safe.length).toBeLessThanOrEqual(REDACTED_CHARS_MAX + 1)
        for (const one of secrets) expect(safe.includes(one) || safe.includes(one.slice(0, 16))).toBe(false)
      }),
      { numRuns: runsOf(40) },
    )
  })
})

// --- time -------------------------------------------------------------------------------------------------------------

const HOSTILE = [
  'eth_sendRawTransaction',
  'https://',
  'https://a@',
  'a://b(.',
  'password="',
  'password="\\"',
  'password: ',
  'private key ',
  'mnemonic: ',
  'abandon ',
  'abandon,',
  'Bearer ',
  'a:',
  'a=',
  '?a&',
  '?a=b&',
  'a.',
  'a-b.',
  '1/',
  'a/1',
  '0x',
  'f',
  '0xf ',
  '4f ',
  '4f:',
  '1,',
  '::',
  '@:',
  'a@a:',
  ' ',
  '"',
  '\\',
  '(',
  '.',
  'eyJ',
  'secret1',
  'http',
  'ab1C',
  '/v2/',
  'ä',
]

/** Runs without truncation, so that the growth of the time is visible. */
function scan(text: string): string {
  const tokens = tokensOf(text)
  redactRuns(tokens)
  redactTokens(text, tokens, { hashes: 'named', paths: true })
  return textOf(text, tokens)
}

/**
 * The ratio of the times for a text of eight times the length. It takes the minimum of a few rounds, because
 * other work of the machine only adds time, and stops once the ratio is within the bound.
 */
function ratioOf(unit: string, bound: number): number {
  const [short, long] = [CHARS, CHARS * 8].map((chars) => unit.repeat(Math.ceil(chars / unit.length)))
  let shortMs = Number.POSITIVE_INFINITY
  let longMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS_MAX; round++) {
    shortMs = Math.min(shortMs, timeOf(short as string))
    longMs = Math.min(longMs, timeOf(long as string))
    if (longMs / Math.max(FLOOR_MS, shortMs) < bound) break
  }
  return longMs / Math.max(FLOOR_MS, shortMs)
}

/** CPU time, so that other programs on the machine do not count. */
function timeOf(text: string): number {
  const begun = process.cpuUsage()
  scan(text)
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000
}

const CHARS = 8_000
const ROUNDS_MAX = 12
// Shorter times are rounded up to this, because the clock is too coarse for them.
const FLOOR_MS = 1

describe('the time grows at most linearly with the length of the text', () => {
  // Eight times the text takes eight times as long, or 64 times with a quadratic algorithm.
  const RATIO_MAX = 28

  it.each(
    [...HOSTILE, ...HOSTILE.map((one) => `secret: "x ${one}`)].map((unit) => [JSON.stringify(unit), unit]),
  )('for repeated %s', (_, unit) => {
    expect(ratioOf(unit as string, RATIO_MAX)).toBeLessThan(RATIO_MAX)
  })

  it('and only the maximum length of a text is read', () => {
    const long = 'https://a.example/b '.repeat(1_000_000)
    expect(redactForeign(long).length).toBeLessThanOrEqual(REDACTED_CHARS_MAX + 1)
    expect(redactText(long).startsWith('https://a.example https://a.example')).toBe(true)
  })
})
