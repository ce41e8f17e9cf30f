import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../test/support/runsOf.js'
import { type Disturbance, drive } from './driver.fixture.js'
import { GETH_LIMITS } from './gethPool.fixture.js'
import { createNetwork, type Faults, type NetworkOptions, NO_FAULTS } from './network.fixture.js'
import type { EndpointTraits } from './state.js'

const GAP_BUDGET = 64

const chance = (max: number) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.double({ min: 0, max, noNaN: true }))

const faults: fc.Arbitrary<Faults> = fc.record({
  requestLost: chance(0.3),
  answerLost: chance(0.3),
  unavailable: chance(0.3),
  duplicated: chance(0.3),
  late: chance(0.2),
  swallowed: chance(0.03),
})

type Rhythm = Pick<NetworkOptions, 'node' | 'blockMs' | 'refreshMs'>

const rhythm: fc.Arbitrary<Rhythm> = fc.constantFrom<Rhythm>(
  { node: 'geth', blockMs: 1_000 },
  { node: 'geth', blockMs: 12_000 },
  { node: 'geth', blockMs: 2_000, refreshMs: 200 },
  { node: 'sequencer', blockMs: 2_000, refreshMs: 200 },
  { node: 'sequencer', blockMs: 200 },
)

const network = (some: fc.Arbitrary<Faults>): fc.Arbitrary<NetworkOptions> =>
  fc
    .record({
      seed: fc.nat(),
      rhythm,
      capacity: fc.constantFrom(5_000, 20_000),
      latencyMs: fc.constantFrom(0.2, 5, 25, 125),
      jitter: fc.double({ min: 0, max: 0.5, noNaN: true }),
      callMs: fc.constantFrom(0.02, 0.2),
      promotionMs: fc.constantFrom(0, 2),
      faults: some,
    })
    .map(({ rhythm: own, latencyMs, jitter, ...rest }) => ({
      ...rest,
      ...own,
      latencyMs,
      jitterMs: latencyMs * jitter,
      timeoutMs: 5_000,
      batchMax: 1_000,
      batchRefusal: 'said',
    }))

/** With faults, and on nodes that cut non-executable transactions before each block. */
const erring: fc.Arbitrary<NetworkOptions> = fc
  .tuple(network(faults), fc.boolean())
  .map(([options, resetsFirst]) => ({ ...options, resetsFirst }))

const transactions = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 300, max: 2_000 }))

const SMALL_POOL = { accountSlots: 4, globalSlots: 64, accountQueue: 8, globalQueue: 16 }

/** Endpoints with limits of their own: a small pool, few calls per request or per second. */
const limited: fc.Arbitrary<NetworkOptions> = fc
  .tuple(
    erring,
    fc.record({
      limits: fc.constantFrom(GETH_LIMITS, SMALL_POOL, { ...GETH_LIMITS, globalSlots: 600 }),
      capacity: fc.constantFrom(50, 500, 20_000),
      batchMax: fc.constantFrom(1, 3, 10, 100, 1_000),
      batchRefusal: fc.constantFrom<'said' | 'silent'>('said', 'silent'),
      callsPerSecond: fc.constantFrom(undefined, 10, 100),
    }),
  )
  .map(([options, limits]) => ({ ...options, ...limits }))

const traits: fc.Arbitrary<Partial<EndpointTraits>> = fc.constantFrom(
  {},
  { gapBudget: undefined },
  { countsMempool: undefined, gapBudget: undefined },
)

/**
 * If most requests time out the window is one, and each transaction may wait for a timeout. The test then
 * requires completion, but no pace.
 */
const limitMs = ({ blockMs, timeoutMs = 0 }: NetworkOptions, amount: number): number =>
  600_000 + 100 * blockMs + amount * timeoutMs

const numRuns = runsOf(200)

const disturbances: fc.Arbitrary<readonly Disturbance[]> = fc.array(
  fc.record({
    kind: fc.constantFrom<Disturbance['kind']>('again', 'other', 'withdraw', 'reclaim', 'restart'),
    atMs: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 5_000 })),
    place: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { minLength: 1, maxLength: 6 },
)

describe('a delivery over any network', () => {
  it('sends each transaction once if nothing is lost', () => {
    fc.assert(
      fc.property(network(fc.constant(NO_FAULTS)), transactions, (options, amount) => {
        const run = drive(createNetwork(options), options, { transactions: amount })
        expect(run.violations).toEqual([])
        expect(run.done).toBe(true)
        expect(run.sends).toBe(amount)
      }),
      { numRuns },
    )
  })

  it('continues at once above nonces of another process if the count shows them', () => {
    const some = fc.record({
      before: fc.integer({ min: 1, max: 100 }),
      after: fc.integer({ min: 1, max: 200 }),
    })
    const gaps = fc.constantFrom(0, undefined, 64)
    fc.assert(
      fc.property(network(fc.constant(NO_FAULTS)), some, gaps, (drawn, { before, after }, gapBudget) => {
        const options: NetworkOptions = { ...drawn, node: 'geth', refreshMs: undefined, blockMs: 12_000 }
        const run = drive(createNetwork(options), options, {
          transactions: before + after,
          sentBefore: before,
          traits: { gapBudget },
        })
        expect(run.violations).toEqual([])
        expect(run.done).toBe(true)
        expect(run.sends).toBe(after)
        expect(run.acknowledgedMs).toBeLessThan(options.blockMs)
      }),
      { numRuns },
    )
  })

  it('learns the lag of counts from bytes that the pool has: with some copies, and little time', () => {
    const behind = fc.record({
      promotionMs: fc.integer({ min: 10, max: 1_000 }),
      callMs: fc.constantFrom(0.02, 0.2, 5),
      blockMs: fc.constantFrom(1_000, 12_000),
    })
    fc.assert(
      fc.property(network(fc.constant(NO_FAULTS)), behind, transactions, (drawn, late, amount) => {
        const options: NetworkOptions = { ...drawn, ...late, node: 'geth', capacity: 20_000 }
        const run = drive(createNetwork(options), options, { transactions: amount, limitMs: 600_000 })
        expect(run.violations).toEqual([])
        expect(run.done).toBe(true)
        // Nonces that are not counted by the next block have to be sent again: blocks without them show the
        // loss.
        const blocksBehind = late.promotionMs / late.blockMs
        expect(run.sends).toBeLessThanOrEqual((2 + blocksBehind) * amount + 1)
        expect(run.confirmedMs).toBeLessThanOrEqual(30 * options.blockMs)
      }),
      { numRuns },
    )
  })

  it('delivers everything, keeps its rules, and sends no more than the losses explain', () => {
    fc.assert(
      fc.property(erring, transactions, (options, amount) => {
        const own = createNetwork(options)
        const run = drive(own, options, { transactions: amount, limitMs: limitMs(options, amount) })
        expect(run.violations).toEqual([])
        expect(run.done).toBe(true)
        const { copies, events } = own.losses
        expect(run.sends - amount).toBeLessThanOrEqual(copies + events * (GAP_BUDGET + 1))
      }),
      { numRuns },
    )
  })

  it('delivers everything despite repeated offers, withdrawals, reclaims and restarts of the node', () => {
    fc.assert(
      fc.property(erring, disturbances, fc.integer({ min: 1, max: 500 }), (options, some, amount) => {
        const own = createNetwork(options)
        const run = drive(own, options, {
          transactions: amount,
          limitMs: limitMs(options, amount),
          disturbances: some,
        })
        expect(run.violations).toEqual([])
        expect(run.done).toBe(true)
        const { copies, events } = own.losses
        const restarts = some.filter(({ kind }) => kind === 'restart').length
        const offers = some.length - restarts
        // Copies that arrived after a restart cannot be distinguished from copies that were lost with the
        // pool.
        const guessed = restarts * amount + events * (GAP_BUDGET + 1)
        expect(run.sends - amount).toBeLessThanOrEqual(copies + offers + guessed)
      }),
      { numRuns },
    )
  })

  it('delivers everything to an endpoint with small limits, with any knowledge of its traits', () => {
    fc.assert(
      fc.property(limited, traits, fc.integer({ min: 1, max: 300 }), (options, known, amount) => {
        const own = createNetwork(options)
        const run = drive(own, options, {
          transactions: amount,
          traits: known,
          limitMs: limitMs(options, amount),
        })
        expect(run.violations).toEqual([])
        expect(run.done).toBe(true)
        const { copies, events } = own.losses
        expect(run.sends - amount).toBeLessThanOrEqual(copies + events * (GAP_BUDGET + 1))
      }),
      { numRuns },
    )
  })
})
