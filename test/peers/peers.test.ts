import { beforeAll, describe, expect, test } from 'vitest'
import type { Ended } from '../support/ended.js'
import { npmScript } from '../support/npmScript.js'
import type { Result } from './result.js'
import { scenarios } from './scenarios/index.js'

const names = scenarios.map(({ name }) => name)

/** In a child process: some of the senders leave unhandled rejections, which would end this one. */
const peers = (...args: readonly string[]) => npmScript('peers', args)

const listed = (flag: string, all: readonly string[]) => all.flatMap((name) => [flag, name])

// One failing sender is enough to show that a scenario can be failed; ethers' manager fails most of them.
const FAILED_BY_VIEM = [
  'out-of-order',
  'beyond-the-queue',
  'sends-after-failure',
  'failed-estimate',
  'lost-answer',
  'other-receipt',
]
const FAILED_BY_MUD = ['slow-blocks', 'mined-meanwhile']
// Reported of a bundler that is not a package: the senders here do not touch a replacement that came too
// late.
const FAILED_BY_NONE = ['replacement-too-late']
const NOT_BY_ETHERS = ['out-of-order', 'beyond-the-queue', ...FAILED_BY_NONE]

let main: Ended
let result: Result
let others: Result

beforeAll(async () => {
  const only = listed('--only', [...FAILED_BY_VIEM, ...FAILED_BY_MUD])
  // Run concurrently: each keeps one core busy, and the tests may use two.
  const [first, second] = await Promise.all([
    peers('--json', '--sender', 'txlane', '--sender', 'ethers'),
    peers('--json', '--sender', 'viem', '--sender', 'mud', ...only),
  ])
  main = first
  result = JSON.parse(main.out) as Result
  others = JSON.parse(second.out) as Result
}, 300_000)

function cellOf(of: Result, scenario: string, sender: string) {
  return of.scenarios.find(({ name }) => name === scenario)?.cells[sender]
}

describe('txlane', () => {
  test.each(names)('%s: each payment runs once, and its caller gets a true answer', (name) => {
    expect(cellOf(result, name, 'txlane')).toMatchObject({ ok: true })
  })

  test('the exit code is 0, and no rejection is left outside the runs', () => {
    expect(main.code, main.err).toBe(0)
    expect(result).toMatchObject({ ok: true, strays: [] })
  })
})

describe('each scenario can be failed', () => {
  test.each(names.filter((name) => !NOT_BY_ETHERS.includes(name)))('%s: by ethers', (name) => {
    expect(cellOf(result, name, 'ethers')).toMatchObject({ ok: false })
  })

  test.each(FAILED_BY_VIEM)('%s: by viem', (name) => {
    expect(cellOf(others, name, 'viem')).toMatchObject({ ok: false })
  })

  test.each(FAILED_BY_MUD)('%s: by mud', (name) => {
    expect(cellOf(others, name, 'mud')).toMatchObject({ ok: false })
  })

  test('findings are counted: paid twice, replaced, stuck, misreported, seen late, and a process that would end', () => {
    expect(cellOf(others, 'mined-meanwhile', 'mud')).toMatchObject({ words: '1 paid twice' })
    expect(cellOf(others, 'lost-answer', 'viem')).toMatchObject({ words: '1 replaced' })
    expect(cellOf(others, 'other-receipt', 'viem')).toMatchObject({ words: '1 misreported' })
    expect(cellOf(result, 'failed-estimate', 'ethers')).toMatchObject({ words: '6 stuck' })
    expect(cellOf(result, 'seen-late', 'ethers')).toMatchObject({ words: 'seen a block late' })
    expect(cellOf(result, 'count-fails', 'ethers')).toMatchObject({
      words: expect.stringContaining('process would crash'),
    })
  })
})

describe('the command', () => {
  test('an unknown name exits with code 2, and runs nothing', async () => {
    const { code, out, err } = await peers('--only', 'nothing')
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err).toContain('failed-estimate')
  })
})
