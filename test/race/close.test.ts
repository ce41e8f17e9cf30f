import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Caller, createCaller } from './caller.js'
import { begin, plan } from './plan.js'
import { race } from './settings.js'
import { broken, listen, watchSilence, watchWire } from './verdict.js'
import { createWorld, type World } from './world.js'

/** Closes the sender; from then on every request, signature or write is a violation. */
async function close(world: World, caller: Caller): Promise<{ readonly broken: readonly string[] }> {
  await caller.ask('close', (sender) => sender.close())
  const { writing } = world.store
  const { broken } = watchSilence(world)
  return writing === 0 ? { broken } : { broken: ['P7: the lease was released while a write was open'] }
}

test('P2, P4, P5, P8: close at any moment: every call settles, nothing continues, and the next process finishes the work', () =>
  race(
    fc.asyncProperty(
      fc.scheduler(),
      plan,
      fc.record({ closeTimeoutMs: fc.constantFrom(300, 10_000), shared: fc.boolean() }),
      async (scheduler, { picks, rules, luck, ...given }, { closeTimeoutMs, shared }) => {
        const world = createWorld(scheduler, { rules, luck, limits: { closeTimeoutMs } })
        const sender = world.sender()
        await world.settle(sender.ready(), 'ready')
        // Resources shared with another lane outlive this one.
        const neighbour = shared ? world.neighbour() : undefined
        await world.settle(neighbour?.ready() ?? Promise.resolve(), 'neighbour')
        const caller = createCaller(sender, world.clock)
        const wire = watchWire(world)
        world.shut()
        begin(world, caller, given)
        const closed = world.gates.pass('close').then(() => close(world, caller))
        await world.play(picks, () => false)
        await world.heal()
        const silence = await world.settle(closed, 'close', 30_000)
        // All answers that the schedule held back have come through by now, so no promise may still be open.
        await world.clock.settle()
        const open = [...caller.open].map((name) => `P8: closed, and ${name} is still open`)
        await world.clock.advance(15_000)
        await world.settle(neighbour?.close() ?? Promise.resolve(), "the neighbour's close")
        const timers = world.clock.pendingTimers - 1

        listen(world)
        const next = world.process().sender()
        await world.settle(next.ready(), 'ready')
        // The store may not know the foreign transaction, so the lane waits for an operator's `resume`.
        next.resume()
        await world.settle(next.drain(), 'drain')
        await world.settle(caller.lastLook(next), 'last look')
        await world.settle(next.close(), 'close')
        await world.aftermath()
        expect([...broken(world, caller), ...wire.broken, ...silence.broken, ...open]).toEqual([])
        expect(timers, 'P9: timers are left').toBe(0)
      },
    ),
    { runs: 150 },
  ))
