import fc from 'fast-check'
import { type Hex, keccak256, numberToHex } from 'viem'
import { expect, test } from 'vitest'
import type { Committed } from '../../src/allocator/journal.js'
import { createLane, type Lane } from '../../src/allocator/lane.js'
import { createBook } from '../../src/ledger/book.js'
import type { Attempt } from '../../src/ledger/slot.js'
import { stoppableClock } from '../../src/platform/clock.js'
import { createTurns } from '../../src/platform/turns.js'
import type { Lease } from '../../src/types/store.js'
import { decodeTransaction } from '../sim/transaction.js'
import { createVirtualClock } from '../sim/virtualClock.js'
import { createCaller } from './caller.js'
import { createGatedStore, type Takes } from './gatedStore.js'
import { createGates, draws } from './gates.js'
import { race } from './settings.js'
import { broken } from './verdict.js'
import { createWorld, LANE } from './world.js'

const plan = fc.record({
  commits: fc.array(fc.record({ withdraws: fc.boolean(), cancels: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  }),
  writes: fc.array(fc.constantFrom<Takes>('takes', 'takes', 'fails', 'takes, but loses the answer'), {
    maxLength: 8,
  }),
  picks: fc.integer({ min: 0, max: 60 }),
})
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

const tokenOf = (nonce: number) => nonce + 1
const claimOf = (nonce: number) => `transaction-${nonce}`

function attemptAt(nonce: number): Attempt {
  const raw = numberToHex(nonce + 1, { size: 8 })
  const rest = { fees: { gasPrice: 1n }, gas: 21_000n, epoch: 1, sends: 0, accepted: false }
  return { raw, hash: keccak256(raw), claim: claimOf(nonce), ...rest }
}

/** A lane whose every write waits for the schedule, and the answers to its commits. */
async function createJournaled(scheduler: fc.Scheduler, writes: readonly Takes[]) {
  const time = createVirtualClock()
  const clock = stoppableClock(time)
  const gates = createGates(scheduler)
  const drawn = draws(writes, 'takes')
  const store = createGatedStore(gates, { writes: drawn, ids: draws([], 'takes') })
  const key = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: LANE } as const
  let open = 0
  let overlapped = false
  const counted = async (...given: Parameters<typeof store.write>) => {
    overlapped ||= open > 0
    open++
    await store.write(...given).finally(() => open--)
  }
  const lane = createLane({
    key,
    lease: (await store.acquire(key, 'me', 10_000)) as Lease,
    book: createBook({ floor: 0 }),
    store: { ...store, write: counted },
    clock,
    turns: createTurns(clock),
    duties: {
      perform: () => {},
      moved: () => {},
      held: () => {},
      changedTransactions: () => [],
      failed: () => {},
    },
    tokenAbove: 100,
  })
  return {
    lane,
    store,
    gates,
    overlapped: () => overlapped,
    async play(picks: number) {
      // The journal retries after a delay, so time passes between any two picks.
      for (let pick = 0; pick < picks && (await gates.one()); pick++) await time.advance(20)
    },
    /** As when a lane stops: none of its timers fires any more. */
    stop() {
      lane.stop()
      clock.stop()
    },
    async heal() {
      drawn.stop()
      await gates.open()
      await time.advance(10_000)
    },
  }
}

/** The history of one nonce, begun and disturbed at any moment of the schedule. */
function follow(
  lane: Lane,
  gates: ReturnType<typeof createGates>,
  nonce: number,
  given: Plan['commits'][number],
) {
  const reported = { result: undefined as string | undefined, withdrawn: false }
  const attempt = attemptAt(nonce)
  const token = tokenOf(nonce)
  lane.apply(nonce, { type: 'reserve', claim: claimOf(nonce), token })
  const done = (result: Committed) => {
    reported.result = result
    if (result !== 'stale')
      lane.apply(nonce, { type: 'journaled', token, attempt, stored: result === 'committed' })
  }
  void gates.pass(`commit ${nonce}`).then(() => lane.journal.commit(nonce, token, attempt, done))
  if (given.withdraws)
    void gates.pass(`withdraw ${nonce}`).then(() => {
      reported.withdrawn =
        lane.apply(nonce, { type: 'withdraw', claim: claimOf(nonce), why: 'failed' }).row === 6
    })
  if (given.cancels)
    void gates.pass(`cancel ${nonce}`).then(() => lane.apply(nonce, { type: 'cancel', token: lane.token() }))
  return { attempt, reported }
}

test('P2, P6: the answer to each commit matches the store, and a withdrawn commit never gets into it', () =>
  race(
    fc.asyncProperty(fc.scheduler(), plan, async (scheduler, { commits, writes, picks }) => {
      const world = await createJournaled(scheduler, writes)
      world.gates.shutNow()
      const ways = commits.map((given, nonce) => follow(world.lane, world.gates, nonce, given))
      await world.play(picks)
      // Every answer so far has to be true by now, and to stay so.
      const answered = () =>
        ways.forEach(({ attempt, reported }, nonce) => {
          if (reported.result !== undefined && reported.result !== 'stale')
            expect(world.store.kept.get(nonce)).toContain(attempt.raw)
        })
      answered()
      await world.heal()
      for (const { attempt, reported } of ways) {
        expect(reported.result).toBeOneOf(['committed', 'found', 'stale'])
        expect(world.store.journaled.has(attempt.raw)).toBe(reported.result !== 'stale')
        if (reported.withdrawn) expect(reported.result).toBe('stale')
      }
      expect(world.overlapped(), 'two writes at once').toBe(false)
      expect(world.lane.holds.list()).toEqual([])
      await world.lane.journal.flushed()
      answered()
      world.lane.stop()
    }),
    { runs: 300 },
  ))

test('P8: stopped at any moment, it releases every waiting caller, and writes nothing any more', () =>
  race(
    fc.asyncProperty(fc.scheduler(), plan, async (scheduler, { commits, writes, picks }) => {
      const world = await createJournaled(scheduler, writes)
      world.gates.shutNow()
      commits.forEach((given, nonce) => void follow(world.lane, world.gates, nonce, given))
      await world.play(picks)
      let ended = false
      world.stop()
      void world.lane.journal.flushed().then(() => {
        ended = true
      })
      await world.heal()
      expect(ended).toBe(true)
      const before = world.store.journaled.size
      world.lane.journal.touch()
      await world.heal()
      expect(world.store.journaled.size).toBe(before)
    }),
    { runs: 150 },
  ))

test('P6: nothing is sent above a nonce whose bytes are not in the store, in any order of answers of signer and store', () =>
  race(
    fc.asyncProperty(fc.scheduler(), plan, async (scheduler, { commits, writes, picks }) => {
      const world = createWorld(scheduler, { luck: { writes } })
      const sender = world.sender()
      await world.settle(sender.ready(), 'ready')
      const caller = createCaller(sender, world.clock)
      const nonces = new Set<number>()
      const early: string[] = []
      world.port.onRequest = (calls) => {
        for (const raw of world.store.journaled) nonces.add(decodeTransaction(raw)?.nonce ?? -1)
        for (const { method, params } of calls) {
          if (method !== 'eth_sendRawTransaction') continue
          const nonce = decodeTransaction(params[0] as Hex)?.nonce ?? 0
          for (let below = 0; below <= nonce; below++)
            if (!nonces.has(below)) early.push(`${nonce} left before ${below} was in the store`)
        }
      }
      world.shut()
      for (const marker of commits.keys())
        void world.gates.pass(`send ${marker + 1}`).then(() => caller.send(marker + 1))
      await world.play(picks * 3, () => false)
      await world.heal()
      await world.clock.runUntil(() => caller.open.size === 0, 120_000)
      await world.settle(sender.close(), 'close')
      await world.aftermath()
      expect([...early, ...broken(world, caller)]).toEqual([])
    }),
    { runs: 100 },
  ))
