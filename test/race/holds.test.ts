import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { HoldReason, Sender } from '../../src/types/index.js'
import { type Caller, createCaller } from './caller.js'
import type { Takes } from './gatedStore.js'
import { race } from './settings.js'
import { broken, watchWire } from './verdict.js'
import { createWorld, type World } from './world.js'

const plan = fc.record({
  sends: fc.integer({ min: 1, max: 5 }),
  /** Holds and their ends, in the order of the schedule, possibly repeated. */
  turns: fc.array(fc.constantFrom('pause' as const, 'resume' as const), { maxLength: 8 }),
  foreign: fc.boolean(),
  // A write whose answer is lost holds the lane until the store has been read again.
  writes: fc.array(fc.constantFrom<Takes>('takes', 'takes', 'fails', 'takes, but loses the answer'), {
    maxLength: 8,
  }),
  picks: fc.integer({ min: 20, max: 200 }),
})
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

// The first row of the table: a nonce is bound to a transaction.
const RESERVED = 1

/** Compares each reservation, and each event about a hold, with the earlier events. */
function watchHolds(world: World, sender: Sender) {
  const held = new Set<HoldReason>()
  const found: string[] = []
  sender.on('held', ({ reason }) => {
    if (held.has(reason)) found.push(`${reason} begins, and it had begun`)
    held.add(reason)
  })
  sender.on('released', ({ reason }) => {
    if (!held.delete(reason)) found.push(`${reason} ends, and it had not begun`)
  })
  world.rows.reported = (row) => {
    if (row === RESERVED && held.size > 0) found.push(`a nonce is reserved under ${[...held].join()}`)
  }
  return {
    broken: found,
    held: held as ReadonlySet<HoldReason>,
    turn(what: 'pause' | 'resume') {
      const unknown = held.has('unknownCommit')
      sender[what]()
      if (held.has('paused') !== (what === 'pause')) found.push(`${what} says ${[...held]}`)
      if (unknown && !held.has('unknownCommit'))
        found.push(`${what} lifts a hold that only a read of the store can lift`)
    },
  }
}

function begin(world: World, caller: Caller, turn: (what: 'pause' | 'resume') => void, given: Plan): void {
  const later = (label: string, work: () => unknown) => void world.gates.pass(label).then(work)
  for (let marker = 1; marker <= given.sends; marker++) later(`send ${marker}`, () => caller.send(marker))
  for (const what of given.turns) later(what, () => turn(what))
  if (given.foreign) later('foreign', () => world.foreign(1))
}

test('while held, the lane reserves nothing; each hold ends by its own cause, and after the last one work continues', () =>
  race(
    fc.asyncProperty(fc.scheduler(), plan, async (scheduler, given) => {
      const world = createWorld(scheduler, { luck: { writes: given.writes } })
      const sender = world.sender()
      await world.settle(sender.ready(), 'ready')
      const holds = watchHolds(world, sender)
      const caller = createCaller(sender, world.clock)
      const wire = watchWire(world)
      world.shut()
      begin(world, caller, holds.turn, given)
      await world.play(given.picks, () => false)

      await world.heal()
      holds.turn('resume')
      holds.turn('resume')
      await world.clock.runUntil(() => caller.open.size === 0, 120_000)
      await world.settle(sender.drain(), 'drain')
      // The answer of the last write may be lost.
      await world.clock.advance(5_000)
      expect([...holds.held], 'the holds of an idle lane').toEqual([])
      await world.settle(sender.close(), 'close')
      await world.aftermath()
      expect([...holds.broken, ...broken(world, caller), ...wire.broken]).toEqual([])
      expect(world.clock.pendingTimers, 'P9: timers are left').toBe(0)
    }),
    { runs: 150 },
  ))

test('paused before it opens: it opens paused, and nothing is reserved until resume', () =>
  race(
    fc.asyncProperty(fc.scheduler(), fc.integer({ min: 0, max: 60 }), async (scheduler, picks) => {
      const world = createWorld(scheduler)
      const sender = world.sender()
      const holds = watchHolds(world, sender)
      const caller = createCaller(sender, world.clock)
      world.shut()
      sender.pause()
      for (const marker of [1, 2]) void world.gates.pass('send').then(() => caller.send(marker))
      await world.play(picks, () => false)
      await world.heal()
      await world.clock.advance(10_000)
      expect(world.port.wire, 'sent while paused').toEqual([])
      await world.settle(
        sender.ready().catch(() => sender.ready()),
        'ready',
      )
      sender.resume()
      await world.clock.runUntil(() => caller.open.size === 0, 120_000)
      await world.settle(caller.lastLook(sender), 'last look')
      await world.settle(sender.close(), 'close')
      await world.aftermath()
      expect([...holds.broken, ...broken(world, caller)]).toEqual([])
    }),
    { runs: 60 },
  ))
