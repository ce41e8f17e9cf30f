import { describe, expect, test } from 'vitest'
import { createCallInfo } from '../rpc/callInfo.js'
import { createFaults, type FaultEngine } from './faults.js'
import { seededRandom } from './seeded.js'

const clock = { now: () => 0, wallNow: () => 5, setTimer: () => () => undefined }
const engine = (seed = 1) => createFaults({ seed, clock })
const calls = (...methods: string[]) => methods.map((method) => createCallInfo({ method, params: [] }))

const hitsOf = (faults: FaultEngine, method: string, times: number) =>
  Array.from({ length: times }, () => faults.plan(calls(method)).calls[0]?.length === 1)

describe('drawing faults', () => {
  test('a rule draws the same sequence regardless of other rules and other calls', () => {
    const alone = engine()
    alone.inject({ fault: 'rpcError', method: 'a', probability: 0.3 })
    const expected = hitsOf(alone, 'a', 50)
    const crowded = engine()
    crowded.inject({ fault: 'rpcError', method: 'a', probability: 0.3 })
    crowded.inject({ fault: 'rpcError', method: 'b', probability: 0.3 })
    crowded.inject({ fault: 'lostFlashblock', probability: 0.3 })
    const drawn = Array.from({ length: 50 }, () => {
      crowded.plan(calls('b', 'c'))
      crowded.strikes('lostFlashblock')
      return crowded.plan(calls('a')).calls[0]?.length === 1
    })
    expect(drawn).toEqual(expected)
    expect(new Set(drawn).size).toBe(2)
  })

  test('a request rule draws once per request, and a call rule once per matching call', () => {
    const faults = engine()
    const request = faults.inject({ fault: 'lostResponse', method: 'a' })
    const call = faults.inject({ fault: 'rpcError', method: 'a' })
    const plan = faults.plan(calls('a', 'b', 'a'))
    expect(plan.request.length).toBe(1)
    expect(plan.calls.map(({ length }) => length)).toEqual([1, 0, 1])
    expect([request.hits, call.hits]).toEqual([1, 2])
  })

  test('skip lets the first matches through, and count limits the hits', () => {
    const faults = engine()
    faults.inject({ fault: 'rpcError', skip: 2, count: 2 })
    expect(hitsOf(faults, 'a', 6)).toEqual([false, false, true, true, false, false])
  })

  test('a send fault does not affect reads', () => {
    const faults = engine()
    faults.inject({ fault: 'neverPooled' })
    const plan = faults.plan(calls('eth_call', 'eth_sendRawTransaction'))
    expect(plan.calls.map(({ length }) => length)).toEqual([0, 1])
  })

  test('a notification fault strikes notifications of its topic only, one rule at a time', () => {
    const faults = engine()
    const heads = faults.inject({ fault: 'skippedNotification', topic: 'newHeads', count: 1 })
    const any = faults.inject({
      fault: 'repeatedNotification',
      match: ({ params: [, result] }) => result === 'wanted',
    })
    faults.inject({ fault: 'rpcError' })
    expect(faults.plan(calls('eth_subscribe')).calls).toMatchObject([[{ fault: 'rpcError' }]])
    const struck = (topic: 'newHeads' | 'logs', result: string) => faults.notification(topic, result)?.fault
    expect(struck('logs', 'other')).toBeUndefined()
    expect(struck('newHeads', 'wanted')).toBe('skippedNotification')
    expect(struck('newHeads', 'wanted')).toBe('repeatedNotification')
    expect([heads.hits, any.hits]).toEqual([1, 1])
    expect(faults.log().at(-1)).toMatchObject({ fault: 'repeatedNotification', method: 'eth_subscription' })
  })

  test('the log is bounded and keeps the newest entries', () => {
    const faults = engine()
    faults.inject({ fault: 'rpcError' })
    for (let round = 0; round < 120; round += 1) faults.plan(calls(...Array<string>(100).fill(`m${round}`)))
    const log = faults.log()
    expect(log.length).toBeLessThanOrEqual(10_000)
    expect(log.at(-1)).toMatchObject({ fault: 'rpcError', method: 'm119', atMs: 5, strike: 12_000 })
  })

  test('the presets contain every kind except reorg, which only storm contains', () => {
    const kinds = (name: 'default' | 'storm') => {
      const faults = engine()
      faults.preset(name)
      for (let round = 0; round < 3_000; round += 1) {
        faults.plan(calls('eth_sendRawTransaction', 'eth_estimateGas', 'eth_getBlockByNumber'))
        faults.strikes('lostFlashblock')
        faults.strikes('reorg')
        faults.notification('newHeads', {})
      }
      return new Set(faults.log().map(({ fault }) => fault))
    }
    expect(kinds('default').size).toBe(18)
    expect(kinds('default')).not.toContain('reorg')
    expect(kinds('storm').size).toBe(19)
  })
})

describe('the seeded numbers', () => {
  test('are uniform in [0, 1) and the same for the same seed', () => {
    const draw = (seed: number) => Array.from({ length: 1_000 }, seededRandom(seed))
    expect(draw(3)).toEqual(draw(3))
    expect(draw(3)).not.toEqual(draw(4))
    const numbers = draw(3)
    expect(numbers.every((one) => one >= 0 && one < 1)).toBe(true)
    const mean = numbers.reduce((sum, one) => sum + one, 0) / numbers.length
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.05)
  })
})
