import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { createHolds } from '../../allocator/holds.js'
import { createPool } from '../../api/pool/pool.js'
import { createMemberIn, createSenderIn } from '../../api/sender/sender.js'
import {
  nameOf,
  onSend,
  openLane,
  type SimLane,
  type SimLaneOptions,
  swallows,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import { memoryStore } from '../../store/memory.js'
import type { FeeBudget, TxRequest } from '../../types/index.js'
import { createFeeSettings } from '../session/feeSettings.js'
import { createFeeBudget } from './feeBudget.js'

const OTHER = '0x00000000000000000000000000000000000000bb'
const GAS = 21_000n
const FEE_CAP = 2_000_000n
const TIP = 100_000n
// The base fee of the simulated chain is 1,000,000 wei, and does not move.
const PRICE = 1_100_000n
/** The maximum fees of one transfer, and its actual fees. */
const BOUND = GAS * FEE_CAP
const COST = GAS * PRICE
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const paid = (marker: number): TxRequest =>
  ({ ...transfer(marker), maxFeePerGas: FEE_CAP, maxPriorityFeePerGas: TIP }) as TxRequest
const open = (budget: object, options: SimLaneOptions = {}) => openLane({ fees: { budget }, ...options })
const budgetOf = async (lane: SimLane) => (await lane.snapshot()).feeBudget
const isHeld = async (lane: SimLane) => (await lane.snapshot()).holds.includes('feeBudget')

/** Sends transfers without reading their receipts. */
async function sendAll(lane: SimLane, markers: readonly number[]): Promise<void> {
  for (const marker of markers) await lane.settle(lane.sender.send(paid(marker), { until: 'queued' }))
  await lane.blocks(3)
}

describe('the spending', () => {
  test('is shown only for the windows that have a budget', async () => {
    await using without = await openLane()
    expect(await budgetOf(without)).toBeUndefined()
    await using lane = await open({ perDayWei: 5n })
    expect(await budgetOf(lane)).toEqual({ day: { spentWei: 0n, limitWei: 5n } })
  })

  test('includes transactions in flight with their maximum cost', async () => {
    await using lane = await open({ perHourWei: 10n * BOUND })
    lane.script = onSend(swallows)
    await lane.settle(lane.sender.send(paid(1)))
    await lane.settle(lane.sender.send(paid(2)))
    expect((await budgetOf(lane))?.hour?.spentWei).toBe(2n * BOUND)
    lane.script = undefined
  })

  test('includes landed transactions with their gas limit at the price of their block, without the value', async () => {
    await using lane = await open({ perHourWei: 10n * BOUND, perDayWei: 20n * BOUND })
    await lane.settle(lane.sender.send({ ...paid(1), gas: 50_000n, value: 77n } as never))
    await lane.blocks(3)
    const spentWei = 50_000n * PRICE
    expect(await budgetOf(lane)).toEqual({
      hour: { spentWei, limitWei: 10n * BOUND },
      day: { spentWei, limitWei: 20n * BOUND },
    })
  })

  test('uses the receipt once it was read', async () => {
    await using lane = await open({ perHourWei: 10n * BOUND })
    const tx = await lane.settle(lane.sender.send({ ...paid(1), gas: 50_000n } as never))
    const { receipt } = await lane.settle(tx.wait('sealed'))
    expect((await budgetOf(lane))?.hour?.spentWei).toBe(receipt!.gasUsed * receipt!.effectiveGasPrice)
    expect((await budgetOf(lane))?.hour?.spentWei).toBeLessThan(50_000n * PRICE)
    // The final outcome and finality change nothing.
    await lane.settle(tx.wait('finalized'))
    expect((await budgetOf(lane))?.hour?.spentWei).toBe(receipt!.gasUsed * receipt!.effectiveGasPrice)
  })

  test('includes the L1 data fee of the receipt', async () => {
    await using lane = await open({ perHourWei: 10n * BOUND })
    const tx = await lane.settle(lane.sender.send(paid(1)))
    await lane.blocks(2)
    const [reply] = await lane.settle(
      lane.port.batch([{ method: 'eth_getTransactionReceipt', params: [tx.hash] }], { timeoutMs: 1_000 }),
    )
    const withL1Fee: RpcReply = {
      ok: true,
      result: { ...(reply as { result: object }).result, l1Fee: '0x64' },
    }
    lane.script = ({ method, params }) => {
      if (method === 'eth_getTransactionReceipt' && params[0] === tx.hash) return withL1Fee
      if (method !== 'eth_getBlockReceipts') return undefined
      return { ok: true, result: [(withL1Fee as { result: unknown }).result] }
    }
    await lane.settle(tx.wait('sealed'))
    expect((await budgetOf(lane))?.hour?.spentWei).toBe(COST + 100n)
  })

  test('includes bumps', async () => {
    await using lane = await open({ perHourWei: 100n * BOUND })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const first = (await budgetOf(lane))?.hour?.spentWei ?? 0n
    await lane.settle(tx.speedUp({ maxFeePerGas: 50_000_000n }))
    await lane.until(() => lane.sent.length > 1)
    expect((await budgetOf(lane))?.hour?.spentWei).toBeGreaterThan(first)
    expect((await budgetOf(lane))?.hour?.spentWei).toBe(GAS * 50_000_000n)
    await lane.settle(tx.wait('sealed'))
  })

  test('counts a transaction as in flight after a reorg, and once when it has landed again', async () => {
    await using lane = await open({ perHourWei: 10n * BOUND })
    const tx = await lane.settle(lane.sender.send(paid(1)))
    await lane.settle(tx.wait('sealed'))
    lane.chain.reorg({ depth: 2 } as never)
    await lane.blocks(4)
    await lane.settle(tx.wait('sealed'))
    expect((await budgetOf(lane))?.hour?.spentWei).toBe(COST)
  })
})

describe('the hold', () => {
  test('begins before the first transaction that could exceed the budget, and gives its reason', async () => {
    await using lane = await open({ perHourWei: COST + BOUND - 1n })
    await sendAll(lane, [1, 2])
    expect(lane.executed()).toEqual([1])
    const { holds, holdDetails } = await lane.snapshot()
    expect(holds).toEqual(['feeBudget'])
    expect(holdDetails?.feeBudget).toBe(
      `The fees of the last hour are ${COST} wei, up to 0 wei are in flight, and the next transaction may cost ${BOUND} wei: the budget is ${COST + BOUND - 1n} wei`,
    )
    expect(lane.events('held')).toMatchObject([{ reason: 'feeBudget' }])
    await lane.clock.advance(5_000)
    expect(lane.warned).toEqual([expect.stringContaining('higher budget (`setFees`)')])
  })

  test('begins in the middle of a burst, because reserved transactions count before they are signed', async () => {
    await using lane = await open({ perHourWei: 2n * BOUND })
    lane.script = onSend(swallows)
    const burst = [1, 2, 3, 4, 5].map((marker) => lane.sender.send(paid(marker), { until: 'queued' }))
    await lane.settle(Promise.all(burst))
    await lane.clock.advance(500)
    expect(new Set(lane.sent.map(nameOf))).toEqual(new Set([1, 2]))
    expect(await isHeld(lane)).toBe(true)
    lane.sender.setFees({ budget: {} })
    lane.script = undefined
  })

  test('does not begin if the budget is just enough', async () => {
    await using lane = await open({ perHourWei: COST + BOUND })
    await sendAll(lane, [1])
    await sendAll(lane, [2])
    expect(lane.executed()).toEqual([1, 2])
    expect(lane.events('held')).toEqual([])
  })

  test('lifts by itself as the window moves, a minute late at most', async () => {
    // A long poll interval shows that no poll of the chain lifts the hold.
    const limits = { pollIntervalMs: 20_000 }
    await using lane = await open({ perHourWei: COST + BOUND - 1n }, { limits })
    await sendAll(lane, [1, 2])
    await lane.clock.advance(HOUR_MS - 3 * MINUTE_MS)
    expect(lane.executed()).toEqual([1])
    await lane.clock.advance(5 * MINUTE_MS)
    expect(lane.executed()).toEqual([1, 2])
    expect(await isHeld(lane)).toBe(false)
  })

  test('lifts with a higher budget, and without a budget', async () => {
    await using lane = await open({ perHourWei: COST + BOUND - 1n })
    await sendAll(lane, [1, 2])
    lane.sender.setFees({ budget: { perHourWei: 2n * COST + BOUND - 1n } })
    expect((await lane.sender.snapshot()).holds).toEqual([])
    await lane.blocks(3)
    expect(lane.executed()).toEqual([1, 2])
    await sendAll(lane, [3])
    expect(await isHeld(lane)).toBe(true)
    lane.sender.setFees({ budget: {} })
    await lane.blocks(3)
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('ends with resume(), which restarts the window', async () => {
    await using lane = await open({ perHourWei: COST + BOUND - 1n })
    await sendAll(lane, [1, 2])
    lane.sender.resume()
    await lane.blocks(3)
    expect(lane.executed()).toEqual([1, 2])
    await sendAll(lane, [3])
    expect(lane.executed()).toEqual([1, 2])
    expect((await budgetOf(lane))?.hour?.spentWei).toBe(COST)
    lane.sender.setFees({ budget: { perHourWei: 9n * BOUND } })
    await lane.blocks(3)
    // Without the hold `resume()` accepts nothing.
    lane.sender.resume()
    expect((await budgetOf(lane))?.hour?.spentWei).toBe(2n * COST)
  })

  test('keeps a transaction that costs more than the whole budget until the budget is higher', async () => {
    await using lane = await open({ perDayWei: BOUND - 1n })
    await sendAll(lane, [1])
    lane.sender.resume()
    await lane.blocks(3)
    expect(lane.sent).toEqual([])
    expect(await isHeld(lane)).toBe(true)
    lane.sender.setFees({ budget: { perDayWei: BOUND } })
    await lane.blocks(3)
    expect(lane.executed()).toEqual([1])
  })

  test('lifts when the waiting transaction is cancelled', async () => {
    await using lane = await open({ perHourWei: BOUND - 1n })
    const tx = await lane.settle(lane.sender.send(paid(1), { until: 'queued' }))
    await lane.blocks(1)
    expect(await isHeld(lane)).toBe(true)
    await lane.settle(tx.cancel())
    await lane.clock.advance(MINUTE_MS)
    expect(await isHeld(lane)).toBe(false)
  })

  test('does not stop transactions in flight: they land, and the gap of a cancelled one is filled', async () => {
    await using lane = await open({ perHourWei: 2n * BOUND })
    lane.script = onSend(swallows)
    const first = await lane.settle(lane.sender.send(paid(1)))
    await lane.settle(lane.sender.send(paid(2)))
    await lane.settle(lane.sender.send(paid(3), { until: 'queued' }))
    await lane.blocks(1)
    expect(await isHeld(lane)).toBe(true)
    lane.script = undefined
    const cancelled = first.cancel()
    await lane.settle(cancelled)
    await lane.until(() => lane.executed().length === 2)
    expect(lane.executed()).toEqual(['noop', 2])
  })

  test('a sender pool sends the waiting transactions by another account', async () => {
    const others = [{ address: OTHER, nonce: 0, balanceWei: 10n ** 18n }] as const
    await using lane = await open({ perHourWei: COST + BOUND - 1n }, { others })
    const accounts = [lane.account, createStubAccount(OTHER, { clock: lane.clock, delayMs: () => 0 })]
    const make = (account: object) =>
      createMemberIn(lane.environment, { ...lane.parameters, account: account as never })
    const pool = createPool(accounts.map(make), { make })
    await lane.settle(pool.ready())
    await sendAll(lane, [1])
    await lane.settle(pool.send(paid(2)))
    expect(lane.events('held')).toMatchObject([{ reason: 'feeBudget' }])
    expect(lane.sent.map(({ from }) => from)).toEqual([lane.account.address, OTHER])
    await lane.settle(pool.close())
  })
})

describe('over a restart', () => {
  /** Opens the same lane in another process, which shares only the store and the chain. */
  async function restarted(lane: SimLane, budget: object) {
    await lane.settle(lane.sender.close())
    return createSenderIn(
      { ...lane.environment, shared: (await import('../../chain/environment.js')).createShared() },
      { ...lane.parameters, fees: { budget } },
    )
  }

  test("counts the store's records by the time of their send", async () => {
    const store = { ...memoryStore(), durable: true }
    await using lane = await open({ perHourWei: 10n * BOUND }, { store })
    for (const marker of [1, 2])
      await lane.settle(lane.sender.send(paid(marker)).then((tx) => tx.wait('finalized')))
    await lane.clock.advance(30 * MINUTE_MS)
    await lane.settle(lane.sender.send(paid(3)).then((tx) => tx.wait('finalized')))
    await lane.clock.advance(20 * MINUTE_MS)
    const next = await restarted(lane, { perHourWei: 3n * BOUND })
    const spent = async () => (await lane.settle(next.snapshot())).feeBudget?.hour?.spentWei
    // Each record counts with its maximum cost, because its actual cost is not known any more.
    expect(await spent()).toBe(3n * BOUND)
    // The lane has become idle by then, and is read from the store again.
    await lane.clock.advance(11 * MINUTE_MS)
    lane.script = onSend(swallows)
    await lane.settle(next.send(paid(4)))
    expect(await spent()).toBe(2n * BOUND)
    lane.script = undefined
    await lane.settle(next.close())
  })

  test('counts landed transactions once while they are not final', async () => {
    const store = { ...memoryStore(), durable: true }
    await using lane = await open({ perHourWei: 10n * BOUND }, { store, lossDepth: 'safe' })
    await lane.settle(lane.sender.send(paid(1)).then((tx) => tx.wait('sealed')))
    const next = await restarted(lane, { perHourWei: 10n * BOUND })
    const spentWei = (await lane.settle(next.snapshot())).feeBudget?.hour?.spentWei
    expect(spentWei).toBeGreaterThanOrEqual(COST)
    expect(spentWei).toBeLessThanOrEqual(BOUND)
    await lane.settle(next.close())
  })

  test('counts transactions in flight once', async () => {
    const store = { ...memoryStore(), durable: true }
    await using lane = await open({ perHourWei: 10n * BOUND }, { store })
    lane.script = onSend(swallows)
    await lane.settle(lane.sender.send(paid(1)))
    const next = await restarted(lane, { perHourWei: 10n * BOUND })
    expect((await lane.settle(next.snapshot())).feeBudget?.hour?.spentWei).toBe(BOUND)
    lane.script = undefined
    await lane.until(() => lane.executed().length === 1)
    await lane.settle(next.close())
  })
})

test('a budget that is set later counts transactions in flight and landed ones that a reorg may undo', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(paid(1)).then((tx) => tx.wait('finalized')))
  await lane.blocks(20)
  lane.script = onSend(swallows)
  await lane.settle(lane.sender.send(paid(2)))
  lane.sender.setFees({ budget: { perHourWei: 10n * BOUND } })
  expect((await budgetOf(lane))?.hour?.spentWei).toBe(BOUND)
  lane.script = undefined
})

describe('the guard alone', () => {
  const DAY_MS = 24 * HOUR_MS

  function guarded(budget: FeeBudget, spentNowWei = 0n) {
    const clock = createVirtualClock()
    const before = [{ wei: spentNowWei, atMs: clock.now() }]
    const settings = createFeeSettings({ budget })
    const holds = createHolds(clock, () => {})
    const lane = { holds, book: { slots: new Map() } }
    const context = { clock, session: { settings }, lane, fees: { dataFee: () => 0n } }
    const guard = createFeeBudget(context as never, { peek: () => undefined }, before)
    return { clock, settings, holds, guard }
  }

  test('holds the lane for the day while the hour is within its limit', async () => {
    const { clock, guard, holds } = guarded({ perHourWei: 100n, perDayWei: 100n }, 99n)
    await clock.advance(2 * HOUR_MS)
    expect(guard.allows(2n)).toBe(false)
    expect(holds.details().feeBudget).toContain('The fees of the last day are 99 wei')
    await clock.advance(DAY_MS - 2 * HOUR_MS)
    expect(guard.allows(2n)).toBe(false)
    await clock.advance(MINUTE_MS)
    expect(guard.allows(2n)).toBe(true)
    expect(holds.any).toBe(false)
  })

  test('counts the most expensive attempt if it is unknown which transaction used the nonce', () => {
    const { guard } = guarded({ perHourWei: 100n })
    guard.check()
    const attempts = [7n, 9n].map((gas) => ({ hash: `0x${gas}`, gas, fees: { gasPrice: 1n }, raw: '0x' }))
    const used = { state: 'used', nonce: 1, attempts, by: { kind: 'unproven' }, at: undefined }
    guard.moved(1, undefined, used as never)
    expect(guard.windows?.hour?.spentWei).toBe(9n)
    // A foreign transaction turns out to have used the nonce, so this account paid nothing.
    guard.moved(1, used as never, { ...used, by: { kind: 'other', hash: '0xff' } } as never)
    expect(guard.windows?.hour?.spentWei).toBe(0n)
  })

  test('no order of allowed spending exceeds a limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ wei: fc.bigInt({ min: 0n, max: 60n }), afterMs: fc.nat({ max: 40 * MINUTE_MS }) }),
        ),
        async (asked) => {
          const { clock, guard } = guarded({ perHourWei: 100n, perDayWei: 400n })
          const spent: { wei: bigint; atMs: number }[] = []
          for (const [nonce, { wei, afterMs }] of asked.entries()) {
            await clock.advance(afterMs)
            if (!guard.allows(wei)) continue
            // Reserved, and landed at once with its maximum cost.
            guard.reserved(nonce, wei)
            spent.push({ wei, atMs: clock.now() })
            guard.moved(nonce, undefined, usedAt(nonce))
            const within = (ms: number) =>
              spent.filter(({ atMs }) => clock.now() - atMs <= ms).reduce((sum, one) => sum + one.wei, 0n)
            expect(within(HOUR_MS) <= 100n).toBe(true)
            expect(within(DAY_MS) <= 400n).toBe(true)
          }

          function usedAt(nonce: number) {
            const { wei: gas } = spent.at(-1)!
            const attempt = { hash: `0x${nonce}`, gas, fees: { gasPrice: 1n }, raw: '0x' }
            return {
              state: 'used',
              nonce,
              attempts: [attempt],
              by: { kind: 'noop', hash: attempt.hash },
              at: undefined,
            } as never
          }
        },
      ),
      { numRuns: 50 },
    )
  })
})
