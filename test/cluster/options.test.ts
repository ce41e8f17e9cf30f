import { expect, test } from 'vitest'
import { parseOptions } from './options.js'

const parse = (text: string) => parseOptions(text.split(' ').filter(Boolean))

test('default to both parts, four processes, three keys, ten thousand requests each, and ten faults', () => {
  expect(parse('')).toEqual({
    kind: 'run',
    options: {
      processes: 4,
      keys: 3,
      transactions: 10_000,
      requests: 10_000,
      only: undefined,
      kills: 6,
      stops: 4,
      seed: 1,
      node: 'devnet',
      json: false,
      postgres: undefined,
    },
  })
})

test('each option is taken', () => {
  const text =
    '--processes 2 --keys 1 --transactions 50 --kills 1 --stops 0 --seed 9 --node anvil --json ' +
    '--only lanes --requests 40 ' +
    '--postgres postgres://user:password@127.0.0.1:5432/lanes'
  expect(parse(text)).toMatchObject({
    kind: 'run',
    options: {
      processes: 2,
      keys: 1,
      transactions: 50,
      requests: 40,
      only: 'lanes',
      kills: 1,
      stops: 0,
      seed: 9,
      node: 'anvil',
      json: true,
    },
  })
})

test.each([
  ['--processes 0', 'processes'],
  ['--keys 11', 'keys'],
  ['--transactions 1e3', 'transactions'],
  ['--kills many', 'kills'],
  ['--node paper', 'paper'],
  ['--processes 1', '--processes 2'],
  ['--unknown', '--unknown'],
  ['surplus', 'too many arguments'],
])('%s is refused with a message that names the fault', (text, expected) => {
  expect(parse(text)).toMatchObject({ kind: 'bad', message: expect.stringContaining(expected) })
})

test('an invalid connection string is refused and not shown', () => {
  const parsed = parse('--postgres http://user:secret@node.example')
  expect(parsed).toMatchObject({ kind: 'bad', message: expect.stringContaining('--postgres') })
  expect(JSON.stringify(parsed)).not.toContain('secret')
})

test('--help prints the help and runs nothing', () => {
  expect(parse('--help')).toMatchObject({ kind: 'help', text: expect.stringContaining('--stops') })
})
