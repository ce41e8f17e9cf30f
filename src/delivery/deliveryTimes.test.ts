import { describe, expect, it } from 'vitest'
import { drive } from './driver.fixture.js'
import { createNetwork, type NetworkOptions, NO_FAULTS } from './network.fixture.js'
import type { DeliveryOptions } from './state.js'

const NETWORK: NetworkOptions = {
  seed: 1,
  node: 'geth',
  blockMs: 1_000,
  capacity: 14_000,
  latencyMs: 10,
  jitterMs: 2,
  callMs: 0.1,
  timeoutMs: 10_000,
  promotionMs: 2,
  batchMax: 1_000,
  batchRefusal: 'said',
  faults: NO_FAULTS,
}
const SEEDS = Array.from({ length: 10 }, (_, index) => index + 1)

function runs(
  over: Partial<NetworkOptions>,
  transactions: number,
  options: Partial<DeliveryOptions> = {},
  seeds = SEEDS,
) {
  return seeds.map((seed) => {
    const all = { ...NETWORK, ...over, seed }
    const network = createNetwork(all)
    return { network, run: drive(network, all, { transactions, options, limitMs: 600_000 }) }
  })
}

describe('time and copies', () => {
  it.each([
    [1_000, 0],
    [1_000, 10],
    [1_000, 50],
    [1_000, 125],
    [4_000, 125],
  ])('a burst of %d takes no more round trips than slow start needs, %d ms away', (amount, latencyMs) => {
    // 64, 128, 256, 512, then a thousand a round, and the final count. One more, since the pool lags a moment
    // behind.
    const rounds = 4 + Math.ceil((amount - 960) / 1_000) + 2
    for (const { run } of runs({ latencyMs, capacity: 1, blockMs: 60_000 }, amount, {}, [1, 2, 3])) {
      const { acknowledgedMs } = run
      expect(acknowledgedMs).toBeLessThanOrEqual(rounds * (2 * latencyMs + 10) + amount * NETWORK.callMs)
    }
  })

  it('a burst that fits the known window takes one request and a count', () => {
    for (const { run } of runs({ latencyMs: 125 }, 1_000, { windowStart: 1_024, batchStart: 1_000 }))
      expect(run.acknowledgedMs).toBeLessThan(2 * 270 + 100)
  })

  it('40,000 transactions fill the pool of geth again and again, and one in a thousand is sent twice', () => {
    const [first] = runs({}, 40_000, { poolStart: 5_000 }, [1])
    expect(first?.network.losses.events).toBeGreaterThan(0)
    expect(first?.run.done).toBe(true)
    expect(first?.run.sends).toBeLessThan(40_040)
    // 4,000 to 5,120 in each block of a second.
    expect(first?.run.confirmedMs).toBeLessThan(11_000)
  })

  it('a small pool costs no more copies than a quarter of the transactions', () => {
    const limits = { accountSlots: 4, globalSlots: 64, accountQueue: 8, globalQueue: 16 }
    for (const { run } of runs({ limits }, 1_000)) {
      expect(run.done).toBe(true)
      expect(run.sends).toBeLessThanOrEqual(1_250)
    }
  })

  it.each([
    [10, 0.3],
    [50, 0.1],
    [125, 0.3],
  ])(
    'a late pool that cuts non-executable nonces before each block, %d ms away, costs copies and no standstill',
    (latencyMs, callMs) => {
      const late = { promotionMs: 40, resetsFirst: true, latencyMs, callMs }
      const took = runs(late, 10_000).map(({ run, network }) => {
        expect(run.done).toBe(true)
        expect(run.sends - 10_000).toBeLessThanOrEqual(2 * network.losses.copies + 64 * network.losses.events)
        return run.confirmedMs
      })
      expect(Math.max(...took)).toBeLessThan(20_000)
    },
  )

  it('halving finds the limit of a batch', () => {
    for (const { run } of runs({ batchMax: 3 }, 200)) {
      expect(run.sends - 200).toBeLessThanOrEqual(64 + 32 + 16 + 8 + 4)
      expect(run.delivery.status.batch).toBe(3)
    }
  })

  it('one lost request of a burst is repaired within three round trips if the count shows the pool', () => {
    for (const seed of SEEDS) {
      const all = { ...NETWORK, seed, latencyMs: 50, blockMs: 60_000 }
      const network = createNetwork(all)
      loseOnce(network)
      const { acknowledgedMs } = drive(network, all, { transactions: 100 })
      const clean = createNetwork(all)
      const without = drive(clean, all, { transactions: 100 }).acknowledgedMs
      expect(acknowledgedMs - without).toBeLessThanOrEqual(3 * 110)
    }
  })

  it('one lost request of a burst is repaired within 600 ms with pre-confirmations every 200 ms', () => {
    const took = SEEDS.map((seed) => {
      const all: NetworkOptions = {
        ...NETWORK,
        node: 'sequencer',
        seed,
        latencyMs: 25,
        blockMs: 2_000,
        refreshMs: 200,
      }
      const network = createNetwork(all)
      loseOnce(network, 'silently')
      return drive(network, all, { transactions: 60 }).acknowledgedMs
    })
    expect(Math.max(...took)).toBeLessThanOrEqual(700)
    expect(took.sort((a, b) => a - b)[SEEDS.length / 2]).toBeLessThanOrEqual(600)
  })
})

/** The second request with transactions, or the only one, is lost: with an immediate error, or silently. */
function loseOnce(network: ReturnType<typeof createNetwork>, how?: 'silently'): void {
  const { request } = network
  let left = how === 'silently' ? 1 : 2
  network.request = (nonces, withCount, ended) => {
    if (nonces.length === 0 || --left !== 0) return request(nonces, withCount, ended)
    network.at(how === 'silently' ? 10_000 : 100, () => ended({ end: 'failed' }))
  }
}
