import { beforeAll, describe, expect, test } from 'vitest'
import type { Ended } from '../support/ended.js'
import { npmScript } from '../support/npmScript.js'
import type { Result } from './result.js'
import { scenarios } from './scenarios/index.js'

const names = scenarios.map(({ name }) => name)

/** In a process of its own: some of the senders leave rejections behind that would end this one. */
const peers = (...args: readonly string[]) => npmScript('peers', args)

const listed = (flag: string, all: readonly string[]) => all.flatMap((name) => [flag, name])

// One that fails is enough to show that a scenario can be failed; ethers' manager fails most of them.
const FAILED_BY_VIEM = [
  'out-of-order',
  'beyond-the-queue',
  'sends-after-failure',
  'failed-estimate',
  'lost-answer',
  'other-receipt',
]
const FAILED_BY_MUD = ['slow-blocks', 'mined-meanwhile']
// Seen with a bundler that is no package: the senders here leave a replacement that came too late alone.
const FAILED_BY_NONE = ['replacement-too-late']
const NOT_BY_ETHERS = ['out-of-order', 'beyond-the-queue', ...FAILED_BY_NONE]

let main: Ended
let result: Result
let others: Result

beforeAll(async () => {
  const only = listed('--only', [...FAILED_BY_VIEM, ...FAILED_BY_MUD])
  // Side by side: each keeps one core busy, and two is what the tests are promised.
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
  test.each(names)('%s: each payment runs once, and its caller is told the truth', (name) => {
    expect(cellOf(result, name, 'txlane')).toMatchObject({ ok: true })
  })

  test('the exit code is 0, and no rejection is left that belongs to no run', () => {
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

  test('findings are counted: paid twice, replaced, stuck, told falsely, seen late, and a process that would end', () => {
    expect(cellOf(others, 'mined-meanwhile', 'mud')).toMatchObject({ words: '1 paid twice' })
    expect(cellOf(others, 'lost-answer', 'viem')).toMatchObject({ words: '1 replaced' })
    expect(cellOf(others, 'other-receipt', 'viem')).toMatchObject({ words: '1 told falsely' })
    expect(cellOf(result, 'failed-estimate', 'ethers')).toMatchObject({ words: '6 stuck' })
    expect(cellOf(result, 'seen-late', 'ethers')).toMatchObject({ words: 'seen a block late' })
    expect(cellOf(result, 'count-fails', 'ethers')).toMatchObject({
      words: expect.stringContaining('process would crash'),
    })
  })
})

describe('the command', () => {
  test('a name that is none is exit code 2, and nothing is run', async () => {
    const { code, out, err } = await peers('--only', 'nothing')
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err).toContain('failed-estimate')
  })
})
