import { describe, expect, test } from 'vitest'
import { parseOptions } from './options.js'

const KEY = `0x${'7'.repeat(64)}`

const parse = (text: string, environment: Record<string, string> = {}) =>
  parseOptions(text.split(' ').filter(Boolean), environment)

function message(text: string, environment: Record<string, string> = {}): string {
  const parsed = parse(text, environment)
  if (parsed.kind !== 'bad') throw new Error(`taken as ${parsed.kind}`)
  return parsed.message
}

describe('without --rpc', () => {
  test('the default is 1,000 transactions on the devnet with the default faults', () => {
    expect(parse('')).toEqual({
      kind: 'run',
      options: {
        count: 1_000,
        seed: 1,
        json: false,
        record: undefined,
        target: { kind: 'devnet', faults: 'default', mode: 'preconfirmed' },
      },
    })
  })

  test('each option is applied', () => {
    expect(parse('--count 60 --seed 9 --faults storm --mode fastBlocks --json --record run.jsonl')).toEqual({
      kind: 'run',
      options: {
        count: 60,
        seed: 9,
        json: true,
        record: 'run.jsonl',
        target: { kind: 'devnet', faults: 'storm', mode: 'fastBlocks' },
      },
    })
  })

  test('a key without a node is refused', () => {
    expect(message('--key-env KEY', { KEY })).toContain('--rpc')
  })
})

describe('with --rpc', () => {
  test('the key is read from the named variable, with or without 0x, and the default count is small', () => {
    for (const value of [KEY, KEY.slice(2)]) {
      expect(parse('--rpc https://user:pass@node.example/secret --key-env MINE', { MINE: value })).toEqual({
        kind: 'run',
        options: {
          count: 50,
          seed: 1,
          json: false,
          record: undefined,
          target: {
            kind: 'node',
            url: 'https://user:pass@node.example/secret',
            key: KEY,
            faultsIgnored: false,
          },
        },
      })
    }
  })

  test('requested faults are marked as ignored', () => {
    expect(parse('--rpc http://127.0.0.1:1 --key-env K --faults storm', { K: KEY })).toMatchObject({
      options: { target: { faultsIgnored: true } },
    })
    expect(parse('--rpc http://127.0.0.1:1 --key-env K --faults none', { K: KEY })).toMatchObject({
      options: { target: { faultsIgnored: false } },
    })
  })

  test('a missing or invalid key is refused with the name of its variable and never shown', () => {
    expect(message('--rpc http://127.0.0.1:1')).toContain('--key-env')
    expect(message('--rpc http://127.0.0.1:1 --key-env ABSENT')).toContain('ABSENT')
    const slipped = message('--rpc http://127.0.0.1:1 --key-env K', { K: `${KEY.slice(0, -1)}g` })
    expect(slipped).not.toContain('7777')
    expect(message(`--rpc http://127.0.0.1:1 --key-env ${KEY}`)).not.toContain('7777')
  })

  test('a URL that is not HTTP is refused and not shown', () => {
    for (const url of ['wss://node.example/secret', 'secret']) {
      expect(message(`--rpc ${url} --key-env K`, { K: KEY })).not.toContain('secret')
    }
  })
})

test.each([
  ['--count 0', 'count'],
  ['--count 1.5', 'count'],
  ['--count many', 'count'],
  ['--count 1e3', 'count'],
  ['--count 100001', 'count'],
  ['--seed -1', 'seed'],
  ['--seed x', 'seed'],
  ['--faults some', 'none, default, storm'],
  ['--unknown', '--unknown'],
  ['surplus', 'too many arguments'],
])('%s is refused with the reason', (text, expected) => {
  expect(message(text)).toContain(expected)
})

test('--help returns the text and runs nothing', () => {
  const parsed = parse('--help')
  expect(parsed.kind).toBe('help')
  expect(parsed).toMatchObject({ text: expect.stringContaining('--key-env') })
})
