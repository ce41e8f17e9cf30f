import { expect, test } from 'vitest'
import type { Clock } from '../../src/platform/clock.js'
import { within } from './within.js'

/** A clock with one timer that is fired by hand. */
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

test('timely work yields its result and leaves no timer', async () => {
  const { clock, isSet } = handClock()
  expect(await within(clock, 10, Promise.resolve(5))).toBe(5)
  expect(isSet()).toBe(false)
})

test('slow work is late, and its later failure is ignored', async () => {
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

test('timely failures are passed on', async () => {
  const { clock, isSet } = handClock()
  await expect(within(clock, 10, Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(isSet()).toBe(false)
})
