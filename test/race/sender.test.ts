import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeGaps } from '../sim/oracle.js'
import { createCaller } from './caller.js'
import { begin, plan } from './plan.js'
import { race } from './settings.js'
import { broken, watchWire } from './verdict.js'
import { createWorld, LANE } from './world.js'

test('P1 to P6, P8: in any order of answers, each lands once or has ended, no gap is left, and every call settles', () =>
  race(
    fc.asyncProperty(fc.scheduler(), plan, async (scheduler, { picks, ...given }) => {
      const world = createWorld(scheduler, { rules: given.rules, luck: given.luck })
      const sender = world.sender()
      await world.settle(sender.ready(), 'ready')
      const caller = createCaller(sender, world.clock)
      const wire = watchWire(world)
      world.shut()
      begin(world, caller, given)
      await world.play(picks, () => false)

      await world.heal()
      sender.resume()
      await world.clock.runUntil(() => caller.open.size === 0, 600_000)
      await world.settle(sender.drain(), 'drain')
      await world.settle(caller.lastLook(sender), 'last look')
      const gaps = judgeGaps(world.chain, LANE).map(({ text }) => `P3: ${text}`)
      await world.settle(sender.close(), 'close')
      await world.aftermath()
      expect([...broken(world, caller), ...wire.broken, ...gaps]).toEqual([])
      expect(world.clock.pendingTimers, 'P9: timers are left').toBe(0)
    }),
    { runs: 100 },
  ))
