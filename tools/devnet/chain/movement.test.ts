import { describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/platform/clock.js'
import { createGate } from './gate.js'
import { createQueue } from './motion.js'
import { startTicker } from './ticker.js'

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** A clock that moves only on `to`, and fires timers in order. */
function handClock(): Clock & { to(nowMs: number): Promise<void> } {
  let nowMs = 0
  let timers: { atMs: number; fn: () => void }[] = []
  return {
    now: () => nowMs,
    wallNow: () => nowMs,
    setTimer(fn, delayMs) {
      const timer = { atMs: nowMs + delayMs, fn }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    async to(targetMs) {
      for (;;) {
        const due = timers.filter(({ atMs }) => atMs <= targetMs).sort((a, b) => a.atMs - b.atMs)[0]
        if (due === undefined) break
        timers = timers.filter((other) => other !== due)
        nowMs = due.atMs
        due.fn()
        await settled()
      }
      nowMs = targetMs
    },
  }
}

describe('the ticker', () => {
  test('ticks on its grid', async () => {
    const clock = handClock()
    const at: number[] = []
    startTicker({ clock, everyMs: 200, tick: async () => void at.push(clock.now()) })
    await clock.to(1_000)
    expect(at).toEqual([200, 400, 600, 800, 1_000])
  })

  test('skips the grid points that a slow tick missed, and never runs two ticks at once', async () => {
    const clock = handClock()
    const slow = deferred()
    const at: number[] = []
    startTicker({
      clock,
      everyMs: 200,
      tick() {
        at.push(clock.now())
        return at.length === 1 ? slow.promise : Promise.resolve()
      },
    })
    await clock.to(750)
    expect(at).toEqual([200])
    slow.resolve()
    await settled()
    await clock.to(1_000)
    expect(at).toEqual([200, 800, 1_000])
  })

  test('continues after a failed tick until it is stopped', async () => {
    const clock = handClock()
    let ticks = 0
    const ticker = startTicker({
      clock,
      everyMs: 10,
      tick() {
        ticks += 1
        return Promise.reject(new Error('no'))
      },
    })
    await clock.to(30)
    ticker.stop()
    await clock.to(60)
    expect(ticks).toBe(3)
  })
})

describe('the queue', () => {
  test('runs tasks one at a time in order, and continues after a failure', async () => {
    const queue = createQueue()
    const first = deferred()
    const ran: string[] = []
    const results = [
      queue.run(async () => {
        await first.promise
        ran.push('first')
        throw new Error('failed')
      }),
      queue.run(async () => void ran.push('second')),
    ]
    await settled()
    expect(ran).toEqual([])
    first.resolve()
    await expect(results[0]).rejects.toThrow('failed')
    await results[1]
    expect(ran).toEqual(['first', 'second'])
  })
})

describe('the gate', () => {
  test('admits a writer after the running readers, and new readers after the writer', async () => {
    const gate = createGate()
    const [reading, writing] = [deferred(), deferred()]
    const ran: string[] = []
    const reader = gate.read(async () => {
      await reading.promise
      ran.push('reader')
    })
    const writer = gate.alone(async () => {
      ran.push('writer in')
      await writing.promise
      ran.push('writer out')
    })
    const late = gate.read(async () => void ran.push('late'))
    await settled()
    expect(ran).toEqual([])
    reading.resolve()
    await settled()
    expect(ran).toEqual(['reader', 'writer in'])
    writing.resolve()
    await Promise.all([reader, writer, late])
    expect(ran).toEqual(['reader', 'writer in', 'writer out', 'late'])
  })

  test('opens again after a failed writer', async () => {
    const gate = createGate()
    await expect(gate.alone(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await gate.read(async () => 1)).toBe(1)
  })
})
