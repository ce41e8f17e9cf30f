import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createColors } from 'picocolors'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { atLeast, atMost, medianOf, ratioOf } from '../../bench/claim.js'
import { CLAIM_NAMES, loadClaim } from '../../bench/claims/index.js'
import { parseOptions } from '../../bench/options.js'
import { checkLine, renderResults } from '../../bench/report.js'
import { isReached, type Measured } from '../../bench/result.js'
import { inTurn, takeTurns } from '../../bench/support/rounds.js'
import { figuresOf, spreadOf } from '../../bench/support/spread.js'
import { count } from '../support/nodeProxy.js'

const optionsOf = (...argv: readonly string[]) => {
  const parsed = parseOptions(argv)
  if (parsed.kind !== 'run') throw new Error(JSON.stringify(parsed))
  return parsed.options
}

describe('a spread', () => {
  it('has the middle value, or the middle of the two middle ones, in any order', () => {
    expect(spreadOf([3, 1, 2])).toMatchObject({ median: 2, least: 1, most: 3, rounds: 3 })
    expect(spreadOf([10, 1, 2, 3])).toMatchObject({ median: 2.5, least: 1, most: 10, rounds: 4 })
  })

  it('of no values is undefined, not a figure of 0', () => {
    expect(spreadOf([])).toBeUndefined()
    expect(figuresOf({ measure: 'm', unit: 'u' }, [['a', []]])).toEqual([])
  })

  it('is rounded to five digits in a figure, small numbers and large ones alike', () => {
    const of = (value: number) => figuresOf({ measure: 'm', unit: 'u' }, [['a', [value]]])[0]?.median
    expect([of(0.012345678), of(1.23456789), of(123_456.789), of(0)]).toEqual([0.012346, 1.2346, 123_457, 0])
  })
})

describe('a check', () => {
  const figures = figuresOf({ measure: 'rate', unit: 'a second' }, [
    ['txlane', [80, 100, 90]],
    ['peer', [30]],
  ])

  it('compares medians of the subjects', () => {
    expect(ratioOf(figures, 'rate', 'txlane', { subject: 'peer' })).toBe(3)
    expect(atLeast('times peer', 3, 3)).toEqual({ says: 'times peer', value: 3, least: 3, passed: true })
    expect(atMost('times peer', 3, 2.9)).toEqual({ says: 'times peer', value: 3, most: 2.9, passed: false })
  })

  it('is not reached by a value that only rounds up to the target', () => {
    expect(atLeast('of it', 0.849_99, 0.85)).toMatchObject({ value: 0.85, passed: false })
  })

  it('is not reached if there is no value to compare', () => {
    const missing = ratioOf(figures, 'rate', 'txlane', { subject: 'nobody' })
    expect(medianOf(figures, 'rate', 'nobody')).toBeUndefined()
    expect(atLeast('times nobody', missing, 0)).toEqual({
      says: 'times nobody',
      value: null,
      least: 0,
      passed: false,
    })
    expect(atMost('of nothing', Number.NaN, 5)).toMatchObject({ value: null, passed: false })
  })

  it('prints that it was not reached, and its target', () => {
    expect(checkLine(atLeast('times viem', 3.456, 4))).toBe('NOT REACHED: 3.46 times viem (at least 4)')
    expect(checkLine(atMost('ms', undefined, 25))).toBe('NOT REACHED: not measured ms (at most 25)')
  })

  it('that is missed makes the result unreached, as a failed claim does', () => {
    const measured = (...checks: Measured['checks']) => ({ checks }) as Measured
    expect(isReached(measured(atLeast('a', 1, 1), atMost('b', 1, 1)))).toBe(true)
    expect(isReached(measured(atLeast('a', 1, 1), atMost('b', 2, 1)))).toBe(false)
    expect(isReached({ failed: 'no node' })).toBe(false)
    expect(isReached({ leftOut: 'there is no node' })).toBe(false)
  })
})

describe('rounds', () => {
  it('begin with a different subject each, and every subject has one turn', () => {
    expect([-1, 0, 1, 2, 3].map((round) => inTurn(['a', 'b', 'c'], round).join(''))).toEqual([
      'cba',
      'abc',
      'bac',
      'cab',
      'acb',
    ])
    expect([inTurn([], 3), inTurn(['a'], 3)]).toEqual([[], ['a']])
  })

  it.each([4, 5, 7, 12])('never let one subject always follow the same other: %s subjects', (count) => {
    const subjects = Array.from({ length: count }, (_, index) => index)
    const rounds = [1, 2, 3, 4, 5].map((round) => inTurn(subjects, round))
    for (const order of rounds) expect([...order].sort((a, b) => a - b)).toEqual(subjects)
    for (const subject of subjects) {
      const before = rounds.map((order) => order[order.indexOf(subject) - 1])
      expect(new Set(before.filter((one) => one !== undefined)).size).toBeGreaterThan(1)
    }
  })

  it('count after the warm-up round, and note the error in place of a value', async () => {
    const ran: string[] = []
    const { values, failures } = await takeTurns({
      subjects: [{ name: 'a' }, { name: 'b' }],
      rounds: 2,
      run: async ({ name }, { round }) => {
        ran.push(`${name}${round}`)
        if (name === 'b' && round === 2) throw new Error('no answer\nat length')
        return round
      },
      show: String,
      say: () => undefined,
    })
    expect(ran).toEqual(['a0', 'b0', 'b1', 'a1', 'a2', 'b2'])
    expect([...values]).toEqual([
      ['a', [1, 2]],
      ['b', [1]],
    ])
    expect(failures).toEqual(['round 2, b: no answer'])
  })

  it('may be warmed up by several rounds', async () => {
    const said: string[] = []
    const { values } = await takeTurns({
      subjects: [{ name: 'a' }],
      rounds: 1,
      warmUps: 2,
      run: async (_, { round }) => round,
      show: String,
      say: (line) => said.push(line),
    })
    expect(said).toEqual(['warm-up, a: -1', 'warm-up, a: 0', 'round 1, a: 1'])
    expect([...values]).toEqual([['a', [1]]])
  })
})

describe('the command line', () => {
  it('measures every claim if none is named, and the named ones in their own order', () => {
    expect(optionsOf().claims).toEqual(CLAIM_NAMES)
    expect(optionsOf('signing', 'burst', 'signing').claims).toEqual(['burst', 'signing'])
  })

  it('has five rounds, and the number of transactions of each claim, by default', () => {
    expect(optionsOf()).toMatchObject({ rounds: 5, transactions: undefined, json: false, check: false })
    expect(optionsOf('burst', '--rounds', '7', '--transactions', '100', '--json', '--check')).toMatchObject({
      rounds: 7,
      transactions: 100,
      json: true,
      check: true,
    })
  })

  it('measures every part of a claim in parts, or only the named parts', () => {
    expect(optionsOf().parts).toEqual([])
    expect(optionsOf('delivery', '--part', 'idle', '--part', 'metered').parts).toEqual(['idle', 'metered'])
    expect(parseOptions(['delivery', '--part', 'idel'])).toMatchObject({
      kind: 'bad',
      message: expect.stringContaining('roundTrips'),
    })
  })

  it('lists all claims if the name is unknown', () => {
    const parsed = parseOptions(['brust'])
    expect(parsed.kind).toBe('bad')
    for (const name of [...CLAIM_NAMES, 'brust'])
      expect(parsed).toMatchObject({ message: expect.stringContaining(name) })
  })

  it.each([
    ['--rounds', '0'],
    ['--rounds', '1.5'],
    ['--transactions', 'many'],
    ['--round', '5'],
  ])('refuses %s %s', (...argv) => {
    expect(parseOptions(argv).kind).toBe('bad')
  })
})

describe('counted requests', () => {
  it('are counted as requests, as the calls in them, and by method', () => {
    const counted = count([['a', 'a', 'b'], ['b'], []])
    expect(counted).toMatchObject({ requests: 3, calls: 4, methods: { a: 2, b: 2 } })
    expect(['a', 'b', 'c'].map(counted.requestsWith)).toEqual([1, 2, 0])
  })
})

describe('every claim', () => {
  it.each(CLAIM_NAMES)(
    '%s: states its claim without a number, because the checks hold the numbers',
    async (name) => {
      const { says, transactions } = await loadClaim(name)
      expect(says).toMatch(/^[A-Za-z][^0-9]+\.$/)
      expect(transactions).toBeGreaterThan(0)
    },
  )
})

describe('a claim that needs a geth', () => {
  afterEach(() => void vi.unstubAllEnvs())

  it.each(['nodes', 'delivery'] as const)(
    '%s: is skipped with one line if there is no geth',
    async (name) => {
      vi.stubEnv('TXLANE_GETH', '')
      vi.stubEnv('PATH', '')
      vi.stubEnv('XDG_CACHE_HOME', join(tmpdir(), 'txlane-no-such-folder'))
      const { run } = await loadClaim(name)
      const context = { rounds: 1, transactions: 1, presigned: false, parts: [], say: () => undefined }
      const result = await run(context)
      if (!('leftOut' in result)) throw new Error('it was measured')
      expect(isReached(result)).toBe(false)
      expect(renderResults({ [name]: result }, createColors(false)).trim()).toBe(
        `${name}: left out: ${result.leftOut}`,
      )
      expect(result.leftOut).toMatch(/^[^\n]*TXLANE_GETH[^\n]*$/)
    },
  )
})
