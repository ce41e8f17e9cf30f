import { describe, expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createTurns } from '../../platform/turns.js'
import { createSigningGroup } from './group.js'

/**
 * A group whose signatures block the event loop for a millisecond each or, with `remoteMs`, are made
 * elsewhere after that time.
 */
function groupOf(remoteMs = 0) {
  const clock = createVirtualClock()
  let workedMs = 0
  const group = createSigningGroup(createTurns({ ...clock, now: () => clock.now() + workedMs }))
  const begun: number[] = []
  const done: number[] = []
  async function sign(number: number): Promise<number> {
    begun.push(number)
    // Accounts await before they sign.
    await undefined
    if (remoteMs > 0) await new Promise<void>((resolve) => void clock.setTimer(resolve, remoteMs))
    else workedMs++
    done.push(number)
    return number
  }
  const ask = (count: number) => Array.from({ length: count }, (_, number) => group.sign(() => sign(number)))
  return { clock, group, begun, done, ask }
}

describe('an account that signs in this process', () => {
  test('signs for two milliseconds at a time, and timers fire in between', async () => {
    const { clock, done, ask } = groupOf()
    const all = ask(10)
    const perTurn: number[] = []
    while (done.length < 10) {
      const [before, fired] = [done.length, clock.firedTimers]
      await clock.runUntil(() => clock.firedTimers > fired, 1_000)
      perTurn.push(done.length - before)
    }
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(4)
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('the group is whole once all are signed, in the order of the requests', async () => {
    const { clock, group, done, ask } = groupOf()
    ask(10)
    let isWhole = false
    void group.whole?.then(() => {
      isWhole = true
      expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    })
    await clock.runUntil(() => isWhole, 1_000)
    expect(isWhole).toBe(true)
    expect(group.whole).toBeUndefined()
  })

  test('a single signature waits for no turn', async () => {
    const { clock, group, done, ask } = groupOf()
    ask(1)
    await clock.settle()
    expect(done).toEqual([0])
    expect(group.whole).toBeUndefined()
  })

  test('a failed signature does not affect the others', async () => {
    const { clock, group, ask } = groupOf()
    const failed = group.sign(() => Promise.reject(new Error('no')))
    const thrown = group.sign(() => {
      throw new Error('not even a promise')
    })
    const others = ask(3)
    const all = Promise.allSettled([failed, thrown, ...others])
    await clock.runUntil(() => group.whole === undefined, 1_000)
    expect((await all).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ])
  })
})

describe('an account that signs elsewhere', () => {
  test('signs all of them concurrently, and the group waits for none', async () => {
    const { clock, group, begun, done, ask } = groupOf(50)
    ask(40)
    await clock.advance(1)
    expect(begun).toHaveLength(40)
    expect(done).toHaveLength(0)
    expect(group.whole).toBeUndefined()
    await clock.advance(50)
    expect(done).toHaveLength(40)
  })

  test('a signature that never completes does not delay the others', async () => {
    const { clock, group, done, ask } = groupOf()
    void group.sign(() => new Promise<never>(() => {}))
    await clock.advance(1)
    ask(5)
    await clock.advance(10)
    expect(done).toEqual([0, 1, 2, 3, 4])
  })
})
