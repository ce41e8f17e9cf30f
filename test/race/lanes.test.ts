import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NonceAllocator } from '../../src/api/allocators/allocator.js'
import { foreignTransaction } from '../sim/foreign.js'
import { judgeGaps } from '../sim/oracle.js'
import { type Caller, createCaller, requestOf } from './caller.js'
import { race } from './settings.js'
import { broken, watchWire } from './verdict.js'
import { createWorld, LANE, type World } from './world.js'

/** Reserves a nonce and releases it, or uses it with a foreign transaction. */
async function reserve(world: World, allocator: NonceAllocator, uses: boolean): Promise<void> {
  const reservation = await allocator.reserve().catch((error: { code?: string }) => {
    // The schedule may hold the answers back until the timeout.
    if (error.code !== 'UNREACHABLE') throw error
  })
  if (reservation === undefined) return
  await world.gates.pass('reserved')
  if (!uses) return reservation.release()
  const { nonce } = reservation
  const fees = { maxFeeWei: 10n ** 9n, tipWei: 10n ** 6n }
  const { chainId } = world.chain.settings
  world.chain.submit(foreignTransaction({ chainId, from: LANE, nonce, salt: nonce, ...fees }).raw)
  await reservation.settle()
}

/** The largest number of leases held at the same time. */
function countLeases({ store }: World): { readonly most: number } {
  const { acquire, release } = store
  let out = 0
  let most = 0
  store.acquire = (...given) => {
    most = Math.max(most, ++out)
    return acquire(...given)
  }
  store.release = (...given) => release(...given).finally(() => out--)
  return {
    get most() {
      return most
    },
  }
}

/** Combines several callers, as if one had received all answers. */
function together(callers: readonly Caller[]): Caller {
  const [first] = callers as [Caller]
  return {
    ...first,
    reports: callers.flatMap(({ reports }) => reports),
    markers: callers.flatMap(({ markers }) => markers),
    faults: callers.flatMap(({ faults }) => faults),
    open: new Set(callers.flatMap(({ open }) => [...open])),
  }
}

test('P1, P7: two senders and an allocator of one key are one lane, which outlives the first to close', () =>
  race(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.boolean(), { maxLength: 4 }),
      fc.integer({ min: 20, max: 200 }),
      async (scheduler, reservations, picks) => {
        const world = createWorld(scheduler)
        const leases = countLeases(world)
        const [one, other, allocator] = [world.sender(), world.sender(), world.allocator()]
        const callers = [one, other].map((sender) => createCaller(sender, world.clock))
        const wire = watchWire(world)
        const later = <T>(label: string, work: () => Promise<T>) => world.gates.pass(label).then(work)
        // The first caller opens the lane, while the others already send.
        world.shut()
        for (const marker of [1, 2, 3, 4])
          void later(`send ${marker}`, async () => callers[marker % 2]?.send(marker))
        const reserved = reservations.map((uses) => later('reserve', () => reserve(world, allocator, uses)))
        await world.play(picks, () => false)
        const closed = later('close', () => one.close())
        await world.play(picks, () => false)

        await world.heal()
        await world.settle(Promise.all([closed, ...reserved]), 'the reservations')
        await world.clock.runUntil(() => callers.every(({ open }) => open.size === 0), 120_000)
        await world.settle(other.drain(), 'drain')
        for (const caller of callers) await world.settle(caller.lastLook(other), 'last look')
        await world.settle(Promise.all([other.close(), allocator.close()]), 'close')
        const gaps = judgeGaps(world.chain, LANE).map(({ text }) => `P3: ${text}`)
        await world.aftermath()
        expect(leases.most, 'lanes').toBe(1)
        expect([...broken(world, together(callers)), ...wire.broken, ...gaps]).toEqual([])
        expect(world.clock.pendingTimers, 'P9: timers are left').toBe(0)
      },
    ),
    { runs: 100 },
  ))

/** All signatures, writes or enqueues of the lane wait until the returned function is called. */
function stick(world: World, what: 'signature' | 'write' | 'enqueue'): () => void {
  let letGo = () => {}
  const stuck = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const { store, account } = world
  const { write, enqueue } = store
  const { signTransaction } = account
  if (what === 'signature')
    account.signTransaction = async (...given) => stuck.then(() => signTransaction(...given))
  if (what === 'write')
    store.write = async (lease, change) => {
      if (lease.lane.address === LANE) await stuck
      return write(lease, change)
    }
  if (what === 'enqueue')
    store.enqueue = async (transactions) => {
      if (transactions.some(({ lane }) => lane.address === LANE)) await stuck
      return enqueue(transactions)
    }
  return letGo
}

test('two keys do not wait for one another: one lane is unaffected when the other is stuck', () =>
  race(
    fc.asyncProperty(
      fc.scheduler(),
      fc.constantFrom('signature' as const, 'write' as const, 'enqueue' as const),
      fc.integer({ min: 0, max: 150 }),
      async (scheduler, what, picks) => {
        const world = createWorld(scheduler)
        const [sender, neighbour] = [world.sender(), world.neighbour()]
        await world.settle(Promise.all([sender.ready(), neighbour.ready()]), 'ready')
        const letGo = stick(world, what)
        world.shut()
        const landed = (by: typeof sender, marker: number) =>
          world.gates
            .pass(`send ${marker}`)
            .then(() => by.send(requestOf(marker)))
            .then((tx) => tx.wait('sealed'))
        const stuck = [1, 2].map((marker) => landed(sender, marker))
        const free = [3, 4].map((marker) => landed(neighbour, marker))
        await world.play(picks, () => false)
        await world.heal()
        await world.settle(Promise.all(free), "the neighbour's", 30_000)
        expect(
          world.chain.canonical.flatMap(({ executed }) => executed.map(({ tx }) => tx.from)),
        ).not.toContain(LANE)
        letGo()
        await world.settle(Promise.all(stuck), "the lane's own")
        await world.settle(Promise.all([sender.close(), neighbour.close()]), 'close')
        await world.aftermath()
        expect(world.clock.pendingTimers, 'P9: timers are left').toBe(0)
      },
    ),
    { runs: 60 },
  ))
