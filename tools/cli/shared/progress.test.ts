import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import type { Clock } from '../../../src/platform/clock.js'
import { barLine, createProgress, type ProgressStream } from './progress.js'

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
  const progress = createProgress(stream, clock, 'xterm')
  progress.say('starting')
  progress.start(10, () => SHOWN)
  fire()
  progress.stop()
  const line = 'accepted 8, sealed 4 of 10\n'
  expect(text()).toBe(`starting\n${line}${line}`)
  expect(open()).toBe(0)
})

test('writes no control sequence into a terminal that knows none', () => {
  const { stream, text } = sink(true)
  const { clock, fire } = handClock()
  const progress = createProgress(stream, clock, 'dumb')
  progress.start(10, () => SHOWN)
  fire()
  progress.say('a notice')
  progress.stop()
  expect(text()).toBe('accepted 8, sealed 4 of 10\na notice\naccepted 8, sealed 4 of 10\n')
})

test('draws a bar with the progress text on a terminal', () => {
  const { stream, text } = sink(true)
  const { clock, open } = handClock()
  const progress = createProgress(stream, clock, 'xterm')
  progress.start(10, () => SHOWN)
  progress.stop()
  expect(text()).toContain('accepted 8, sealed 4 of 10')
  expect(open()).toBe(0)
})

const TEXTS = [
  'sealed 1,234 of 10,000, preconfirmed 2,000, accepted 3,000, signed 4,000, 45.2/s, 3 min left',
  'sealed 1,234 of 10,000, preconfirmed 2,000, 3 min left',
  '1,234 of 10,000 sealed',
]
const STAGES = { done: 1_234, stages: [1_234, 5_000, 10_000], text: TEXTS }

test.each([
  [120, `██${'▓'.repeat(9)}${'▒'.repeat(12)} ${TEXTS[0]}`],
  [80, `█${'▓'.repeat(6)}${'▒'.repeat(8)} ${TEXTS[1]}`],
  [60, `█${'▓'.repeat(4)}${'▒'.repeat(6)} ${TEXTS[2]}`],
  [25, '1,234 of 10,000 sealed'],
  [12, '1,234 of 10'],
])('fits a terminal of %i columns, and the bar shows each stage', (width, line) => {
  expect(barLine(STAGES, 10_000, width)).toBe(line)
  expect(line.length).toBeLessThan(width)
})

test('a message takes the line of the bar, wrapped, and the bar continues below it', () => {
  const { stream, text } = sink(true)
  const progress = createProgress(Object.assign(stream, { columns: 40 }), handClock().clock)
  progress.start(10, () => SHOWN)
  progress.say('The node does not answer usefully: requests are repeated.')
  progress.stop()
  const [before = '', after = ''] = text().split(
    'The node does not answer usefully:\nrequests are repeated.\n',
  )
  expect(before).toContain('accepted 8, sealed 4 of 10')
  expect(before.endsWith('\r\u001b[2K')).toBe(true)
  expect(after.startsWith('\u001b7')).toBe(true)
  expect(after).toContain('accepted 8, sealed 4 of 10')
})
