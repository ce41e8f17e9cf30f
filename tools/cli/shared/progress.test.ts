import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import type { Clock } from '../../../src/platform/clock.js'
import { createProgress, type ProgressStream } from './progress.js'

const SHOWN = { done: 5, text: 'accepted 8, sealed 4 of 10' }

function sink(isTTY: boolean): { stream: ProgressStream; text(): string } {
  let written = ''
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString()
      done()
    },
  })
  return { stream: Object.assign(stream, { isTTY, columns: 120 }), text: () => written }
}

/** A clock whose timers fire on demand. */
function handClock() {
  const timers = new Set<() => void>()
  const clock: Clock = {
    now: () => 0,
    wallNow: () => 0,
    setTimer(fn) {
      timers.add(fn)
      return () => timers.delete(fn)
    },
  }
  const fire = () => {
    const due = [...timers]
    timers.clear()
    for (const fn of due) fn()
  }
  return { clock, fire, open: () => timers.size }
}

test('writes messages and whole progress lines into a pipe, and nothing after stop', () => {
  const { stream, text } = sink(false)
  const { clock, fire, open } = handClock()
  const progress = createProgress(stream, clock)
  progress.say('starting')
  progress.start(10, () => SHOWN)
  fire()
  progress.stop()
  const line = 'accepted 8, sealed 4 of 10\n'
  expect(text()).toBe(`starting\n${line}${line}`)
  expect(open()).toBe(0)
})

test('draws a bar with the progress text on a terminal', () => {
  const { stream, text } = sink(true)
  const { clock, open } = handClock()
  const progress = createProgress(stream, clock)
  progress.start(10, () => SHOWN)
  progress.stop()
  expect(text()).toContain('accepted 8, sealed 4 of 10')
  expect(open()).toBe(0)
})
