import { expect, test } from 'vitest'
import type { Clock } from '../../platform/clock.js'
import { within } from './within.js'

/** One timer, fired by hand. */
function handClock() {
  let timer: (() => void) | undefined
  const clock: Clock = {
    now: () => 0,
    wallNow: () => 0,
    setTimer(fn) {
      timer = fn
      return () => {
        timer = undefined
      }
    },
  }
  return { clock, fire: () => timer?.(), isSet: () => timer !== undefined }
}

test('work in time gives its result and leaves no timer behind', async () => {
  const { clock, isSet } = handClock()
  expect(await within(clock, 10, Promise.resolve(5))).toBe(5)
  expect(isSet()).toBe(false)
})

test('work that takes too long is late, and may fail later without harm', async () => {
  const { clock, fire } = handClock()
  let fail = (_error: Error) => {}
  const work = new Promise<never>((_, reject) => {
    fail = reject
  })
  const result = within(clock, 10, work)
  fire()
  expect(await result).toBe('late')
  fail(new Error('nobody listens'))
  await expect(work).rejects.toThrow('nobody listens')
})

test('work that fails in time fails', async () => {
  const { clock, isSet } = handClock()
  await expect(within(clock, 10, Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(isSet()).toBe(false)
})
