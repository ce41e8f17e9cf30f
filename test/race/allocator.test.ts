import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NonceAllocator } from '../../src/api/allocators/allocator.js'
import type { Reservation } from '../../src/api/allocators/reservation.js'
import { foreignTransaction } from '../sim/foreign.js'
import type { Takes } from './gatedStore.js'
import { race } from './settings.js'
import { createWorld, LANE, type World } from './world.js'

/** How a user treats a reserved nonce. */
type Use = 'releases' | 'sends' | 'sends, but times out' | 'never reports back'

const user = fc.record({
  amount: fc.integer({ min: 1, max: 3 }),
  uses: fc.constantFrom<Use>('releases', 'releases', 'sends', 'sends, but times out', 'never reports back'),
  aborts: fc.boolean(),
})

const plan = fc.record({
  users: fc.array(user, { minLength: 2, maxLength: 6 }),
  resyncs: fc.integer({ min: 0, max: 2 }),
  writes: fc.array(fc.constantFrom<Takes>('takes', 'takes', 'fails', 'takes, but loses the answer'), {
    maxLength: 12,
  }),
  picks: fc.integer({ min: 10, max: 100 }),
})
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

// The schedule may hold an answer back while time passes: then the endpoint is silent, and the error is
// UNREACHABLE.
const REFUSALS = ['ABORTED', 'QUEUE_FULL', 'CLOSED', 'UNREACHABLE'].map((code) => `${code}, notExecuted`)
const SILENCE = ['UNREACHABLE, notExecuted', 'CLOSED, notExecuted', 'CLOSED, inFlight']

/** Several users of one account's nonces, and a record of every violation. */
function createUsers(world: World) {
  const held = new Set<number>()
  const broken: string[] = []
  let open = 0

  async function asked(what: string, codes: readonly string[], work: () => Promise<unknown>): Promise<void> {
    open++
    await work().catch((error: { code?: string; fate?: string }) => {
      if (!codes.includes(`${error.code}, ${error.fate}`)) broken.push(`P8: ${what}: ${error}`)
    })
    open--
  }

  function take(reservation: Reservation): void {
    if (held.has(reservation.nonce)) broken.push(`P1: ${reservation.nonce} is in two hands`)
    held.add(reservation.nonce)
  }

  function submit(nonce: number): void {
    const { chainId } = world.chain.settings
    const fees = { maxFeeWei: 10n ** 9n, tipWei: 10n ** 6n }
    world.chain.submit(foreignTransaction({ chainId, from: LANE, nonce, salt: nonce, ...fees }).raw)
  }

  async function use(reservation: Reservation, uses: Use): Promise<void> {
    await world.gates.pass(`${reservation.nonce} ${uses}`)
    if (uses === 'releases') {
      // From this call on the nonce may be handed to another user.
      held.delete(reservation.nonce)
      return reservation.release()
    }
    if (uses === 'never reports back') return
    submit(reservation.nonce)
    await reservation.settle(uses === 'sends' ? undefined : new Error('timeout'))
  }

  return {
    held: held as ReadonlySet<number>,
    broken,
    open: () => open,
    submit,
    take,
    async run(allocator: NonceAllocator, { amount, uses, aborts }: Plan['users'][number]): Promise<void> {
      const controller = new AbortController()
      if (aborts) void world.gates.pass('abort').then(() => controller.abort())
      await asked('reserve', REFUSALS, async () => {
        const reservations = await allocator.reserveMany(amount, { signal: controller.signal })
        reservations.forEach(take)
        for (const one of reservations) void asked(uses, ['CLOSED, notExecuted'], () => use(one, uses))
      })
    },
    asked,
  }
}

function begin(world: World, allocator: NonceAllocator, { users, resyncs }: Plan) {
  const playing = createUsers(world)
  const later = (label: string, work: () => unknown) => void world.gates.pass(label).then(work)
  for (const one of users) later('reserve', () => playing.run(allocator, one))
  for (let count = 0; count < resyncs; count++)
    later('resync', () => playing.asked('resync', SILENCE, () => allocator.resync()))
  return playing
}

test('P1, P8: no nonce has two owners, every call settles, and used and released nonces leave no gap', () =>
  race(
    fc.asyncProperty(fc.scheduler(), plan, async (scheduler, given) => {
      const world = createWorld(scheduler, { luck: { writes: given.writes }, limits: { windowMax: 8 } })
      const allocator = world.allocator()
      await world.settle(allocator.ready(), 'ready')
      world.shut()
      const users = begin(world, allocator, given)
      await world.play(given.picks, () => false)
      await world.heal()
      await world.clock.runUntil(() => users.open() === 0, 60_000)
      expect([...users.broken, `${users.open()} open`]).toEqual(['0 open'])

      // Users that did not report back have used their nonces after all; the released ones are the next to be
      // handed out.
      const highest = Math.max(-1, ...users.held)
      const free = Array.from({ length: highest + 1 }, (_, nonce) => nonce).filter((n) => !users.held.has(n))
      for (const nonce of users.held) users.submit(nonce)
      for (const nonce of free) {
        const reservation = await world.settle(allocator.reserve(), 'reserve')
        expect(reservation.nonce, 'the lowest free one').toBe(nonce)
        users.submit(nonce)
      }
      await world.clock.runUntil(() => (allocator.snapshot()?.floor ?? 0) > highest, 120_000)
      expect(allocator.snapshot()).toMatchObject({ floor: highest + 1, cursor: highest + 1, holes: [] })
      await world.settle(allocator.close(), 'close')
      await world.aftermath()
      expect(world.clock.pendingTimers, 'P9: timers are left').toBe(0)
    }),
    { runs: 150 },
  ))

test('P1: closed at any moment: the next process hands out no nonce that still has an owner', () =>
  race(
    fc.asyncProperty(fc.scheduler(), plan, async (scheduler, given) => {
      const world = createWorld(scheduler, {
        luck: { writes: given.writes },
        limits: { windowMax: 64, closeTimeoutMs: 100 },
      })
      const allocator = world.allocator()
      world.shut()
      const users = begin(world, allocator, given)
      await world.play(given.picks, () => false)
      const closed = world.gates.pass('close').then(() => allocator.close())
      await world.play(given.picks, () => false)
      await world.heal()
      await world.settle(closed, 'close')
      await world.clock.runUntil(() => users.open() === 0, 60_000)
      const next = world.process().allocator()
      for (const one of await world.settle(next.reserveMany(8), 'reserve')) users.take(one)
      await world.settle(next.close(), 'close')
      await world.aftermath()
      expect([...users.broken, `${users.open()} open`]).toEqual(['0 open'])
      expect(world.clock.pendingTimers, 'P9: timers are left').toBe(0)
    }),
    { runs: 150 },
  ))
