import { describe, expect, test } from 'vitest'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import { createLanesIn, type LanesParameters } from '../../api/lanes.js'
import { createPool } from '../../api/pool/pool.js'
import { createMemberIn, createSenderIn } from '../../api/sender/sender.js'
import {
  nameOf,
  onSend,
  openLane,
  type SimLane,
  swallows,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { TxRequest } from '../../types/index.js'

const CEILING_WEI = 3_000_000n
const LOW = { ceiling: { maxFeePerGas: CEILING_WEI } }
const HIGH = { ceiling: { maxFeePerGas: 10n ** 12n } }
const OTHER = '0x00000000000000000000000000000000000000bb'

const priced = (marker: number, maxFeePerGas: bigint) =>
  ({ ...transfer(marker), maxFeePerGas, maxPriorityFeePerGas: 1n }) as TxRequest
const mostSent = (lane: SimLane) =>
  lane.sent.map(({ maxFeeWei }) => maxFeeWei).reduce((a, b) => (a > b ? a : b), 0n)

describe('a ceiling that is raised while a transaction has reached it', () => {
  /** The base fee rises above the ceiling, so that neither the transaction nor a no-op can land. */
  async function standing(): Promise<SimLane> {
    const lane = await openLane({ fees: LOW })
    lane.chain.spikeBaseFee(40_000_000n, 10_000)
    await lane.blocks(2)
    void lane.sender.send(transfer(1), { id: 'standing', until: 'queued' })
    await lane.blocks(20)
    expect(lane.executed()).toEqual([])
    expect(mostSent(lane)).toBeLessThanOrEqual(CEILING_WEI)
    return lane
  }

  test('bumps the transaction with the next tick, without another block', async () => {
    await using lane = await standing()
    await lane.blocks(1)
    const { number } = lane.chain.head
    lane.sender.setFees(HIGH)
    await lane.until(() => mostSent(lane) > CEILING_WEI)
    expect(lane.chain.head.number).toBe(number)
    const tx = await lane.settle(lane.sender.get('standing'))
    await lane.settle(tx!.wait('sealed'))
    expect(lane.executed()).toEqual([1])
  })

  test('leaves the transaction unchanged if the ceiling stays', async () => {
    await using lane = await standing()
    await lane.blocks(20)
    expect(mostSent(lane)).toBeLessThanOrEqual(CEILING_WEI)
    lane.sender.setFees(HIGH)
  })

  test("does not exceed the transaction's own ceiling", async () => {
    await using lane = await openLane({ fees: LOW })
    lane.chain.spikeBaseFee(40_000_000n, 60)
    await lane.blocks(2)
    const sent = lane.sender.send(transfer(1), { until: 'queued', feeCeiling: 2_000_000n })
    lane.sender.setFees(HIGH)
    const tx = await lane.settle(sent)
    await lane.blocks(10)
    for (const one of lane.sent.filter((each) => nameOf(each) === 1))
      expect(one.maxFeeWei).toBeLessThanOrEqual(2_000_000n)
    await lane.settle(tx.cancel())
  })
})

test('a lowered ceiling applies to later signatures', async () => {
  await using lane = await openLane()
  await lane.settle(lane.sender.send(transfer(1)))
  lane.sender.setFees({ ceiling: { maxFeePerGas: 1_900_000n } })
  await lane.settle(lane.sender.send(transfer(2)))
  expect(lane.sent[0]!.maxFeeWei).toBeGreaterThan(1_900_000n)
  expect(lane.sent.at(-1)!.maxFeeWei).toBeLessThan(1_900_000n)
})

test('omitted fields stay unchanged, and an empty object removes a bound', async () => {
  await using lane = await openLane({ fees: { ...LOW, groups: { slow: { ceiling: { maxFeePerGas: 5n } } } } })
  lane.sender.setFees({ groups: {} })
  await lane.settle(lane.sender.send(transfer(1), { group: 'slow' }))
  expect(lane.sent[0]!.maxFeeWei).toBeGreaterThan(5n)
  expect(lane.sent[0]!.maxFeeWei).toBeLessThan(CEILING_WEI)
  lane.sender.setFees({ ceiling: {} })
  await lane.settle(lane.sender.send(priced(2, 10n ** 9n)).then((tx) => tx.wait('sealed')))
  expect(lane.executed()).toEqual([1, 2])
})

test('a change before the lane is open applies once it is open', async () => {
  await using lane = await openLane({ closed: true })
  lane.sender.setFees({ ceiling: { maxFeePerGas: 1_900_000n } })
  lane.chain.start()
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.sent[0]!.maxFeeWei).toBeLessThan(1_900_000n)
})

test('the caller may reuse its object, and the values that were set stay', async () => {
  await using lane = await openLane()
  const change = { ceiling: { maxFeePerGas: 1_900_000n } }
  lane.sender.setFees(change)
  change.ceiling.maxFeePerGas = 10n ** 18n
  await lane.settle(lane.sender.send(transfer(1)))
  expect(lane.sent[0]!.maxFeeWei).toBeLessThan(1_900_000n)
})

describe('the ceiling of a group', () => {
  const GROUPS = { groups: { slow: { ceiling: { maxFeePerGas: 2_050_000n } } } }

  test('applies to its transactions, and no others', async () => {
    await using lane = await openLane({ fees: GROUPS })
    await lane.settle(lane.sender.send(transfer(1), { group: 'slow' }))
    await lane.settle(lane.sender.send(transfer(2), { group: 'fast' }))
    await lane.settle(lane.sender.send(transfer(3)))
    const [slow, ...others] = lane.sent.map(({ maxFeeWei }) => maxFeeWei)
    expect(slow).toBe(2_050_000n)
    for (const wei of others) expect(wei).toBeGreaterThan(2_050_000n)
  })

  test.each([
    [2_000_000n, 2_000_000n],
    [9_000_000n, 2_050_000n],
  ])('of a feeCeiling of %s and that of the group %s is the lowest', async (feeCeiling, lowest) => {
    await using lane = await openLane({ fees: GROUPS })
    await lane.settle(lane.sender.send(transfer(1), { group: 'slow', feeCeiling }))
    expect(lane.sent[0]!.maxFeeWei).toBe(lowest)
  })

  test('refuses higher fees in a request at once, and accepts the id of an earlier send', async () => {
    await using lane = await openLane({
      fees: { groups: { slow: { ceiling: { maxFeePerGas: 5_000_000n } } } },
    })
    const send = () => lane.sender.send(priced(1, 4_000_000n), { id: 'one', group: 'slow' })
    const tx = await lane.settle(send())
    lane.sender.setFees(GROUPS)
    expect(await lane.settle(send())).toBe(tx)
    const error = await lane.rejection(lane.sender.send(priced(2, 4_000_000n), { id: 'two', group: 'slow' }))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(error.message).toContain(
      'request.maxFeePerGas: expected at most 2050000 wei, the ceiling of its group',
    )
    expect(await lane.settle(lane.sender.get('two'))).toBeUndefined()
    await lane.settle(tx.wait('sealed'))
    // Also long after it has ended.
    expect((await lane.settle(send())).id).toBe('one')
    expect(lane.executed()).toEqual([1])
  })

  test('limits the fees of speedUp', async () => {
    await using lane = await openLane({ fees: GROUPS })
    lane.script = onSend(swallows)
    const tx = await lane.settle(lane.sender.send(transfer(1), { group: 'slow' }))
    const error = await lane.rejection(tx.speedUp({ maxFeePerGas: 9_000_000n }))
    expect(error).toMatchObject({ code: 'INVALID' })
    lane.sender.setFees({ groups: {} })
    lane.script = undefined
    await lane.settle(tx.speedUp({ maxFeePerGas: 9_000_000n }).then(() => tx.wait('sealed')))
    expect(lane.sent.at(-1)!.maxFeeWei).toBe(9_000_000n)
  })
})

describe('for several accounts', () => {
  const others = [{ address: OTHER, nonce: 0, balanceWei: 10n ** 18n }] as const
  const accountOf = (lane: SimLane) => createStubAccount(OTHER, { clock: lane.clock, delayMs: () => 0 })

  test('a pool sets them for all its accounts, present and later ones', async () => {
    await using lane = await openLane({ others })
    const make = (account: SimLane['account']) =>
      createMemberIn(lane.environment, { ...lane.parameters, account })
    const pool = createPool([make(lane.account)], { make: make as never })
    pool.setFees({ ceiling: { maxFeePerGas: 1_900_000n } })
    const late = pool.add(accountOf(lane))
    await lane.settle(Promise.all([pool.send(transfer(1)), late.send(transfer(2))]))
    for (const { maxFeeWei } of lane.sent) expect(maxFeeWei).toBeLessThan(1_900_000n)
    expect(() => pool.setFees({ ceiling: { maxFeePerGas: -1n } })).toThrow(/fees\.ceiling\.maxFeePerGas/)
    await lane.settle(pool.close())
  })

  test('lanes set them for all accounts of a chain, present and later ones', async () => {
    await using lane = await openLane({ others })
    const { account: _, ...chain } = lane.parameters
    const lanes = createLanesIn(lane.environment, { chains: [chain] } as unknown as LanesParameters<[]>)
    const chainId = chain.client.chain.id as never
    const early = lanes.sender({ chainId, account: lane.account })
    await lane.settle(early.ready())
    lanes.setFees({ chainId, ceiling: { maxFeePerGas: 1_900_000n } })
    const late = lanes.sender({ chainId, account: accountOf(lane) })
    await lane.settle(Promise.all([early.send(transfer(1)), late.send(transfer(2))]))
    for (const { maxFeeWei } of lane.sent) expect(maxFeeWei).toBeLessThan(1_900_000n)
    expect(() => lanes.setFees({ chainId: 77 as never })).toThrow(/chainId/)
    expect(() => lanes.setFees({ chainId, ceilling: {} } as never)).toThrow(/did you mean ceiling/)
    await lane.settle(lanes.close())
    expect(() => lanes.setFees({ chainId })).toThrow(/closed/)
  })

  test('a sender that joins with the original options uses the settings that changed since', async () => {
    await using lane = await openLane({ fees: LOW })
    lane.sender.setFees({ ceiling: { maxFeePerGas: 1_900_000n } })
    const joining = createSenderIn(lane.environment, lane.parameters)
    await lane.settle(joining.send(transfer(1)))
    expect(lane.sent[0]!.maxFeeWei).toBeLessThan(1_900_000n)
    await lane.settle(joining.close())
  })
})

describe('refuses invalid input at once, and changes nothing', () => {
  const BAD: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /Invalid fees: expected an object/],
    [null, /Invalid fees/],
    [[], /Invalid fees/],
    [{ ceiling: 5n }, /fees\.ceiling/],
    [{ ceiling: { maxFeePerGas: 5 } }, /fees\.ceiling\.maxFeePerGas/],
    [{ ceiling: { maxFeePerGas: 2n ** 256n } }, /fees\.ceiling\.maxFeePerGas/],
    [{ ceiling: { maxfeePerGas: 5n } }, /did you mean maxFeePerGas/],
    [{ preset: 'slow' }, /fees\.preset/],
    [{ groups: [] }, /fees\.groups/],
    [{ groups: { a: 5n } }, /fees\.groups\.a/],
    [{ groups: { a: { ceiling: { gasPrice: '5' } } } }, /fees\.groups\.a\.ceiling\.gasPrice/],
    [{ groups: { a: { cieling: {} } } }, /did you mean ceiling/],
    [{ budget: 5n }, /fees\.budget/],
    [{ budget: { perHourWei: -1n } }, /fees\.budget\.perHourWei/],
    [{ budget: { perDayWei: 1 } }, /fees\.budget\.perDayWei/],
    [{ budget: { perWeekWei: 1n } }, /There is no option fees\.budget\.perWeekWei/],
    [{ estimate: async () => ({}) }, /There is no option fees\.estimate/],
    [{ bump: { percent: 20 } }, /There is no option fees\.bump/],
  ]
  test.each(BAD.map(([change, said]) => ({ change, said })))('$change', async ({ change, said }) => {
    await using lane = await openLane({ closed: true })
    expect(() => lane.sender.setFees(change as never)).toThrow(said)
  })
})
