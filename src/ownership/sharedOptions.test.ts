import { describe, expect, test } from 'vitest'
import { createNonceAllocatorIn } from '../api/allocators/allocator.js'
import { createSenderIn, type LooseParameters } from '../api/sender/sender.js'
import { ACCOUNT, openLane, type SimLane, transfer } from '../api/sender/simLane.fixture.js'

const GWEI = 10n ** 9n
const FIRST: Partial<LooseParameters> = {
  fees: { ceiling: { maxFeePerGas: 100n * GWEI }, bump: { percent: 15 } },
  limits: { window: 32 },
}

function second(lane: SimLane, options: Partial<LooseParameters>) {
  const { fees: _, limits: __, lossDepth: ___, ...same } = lane.parameters
  return createSenderIn(lane.environment, { ...same, ...options })
}

/** Each option with a value that the lane of the first sender does not have. */
const others: readonly (readonly [name: string, options: Partial<LooseParameters>])[] = [
  ['broadcast', { broadcast: 'all' }],
  ['simulate', { simulate: true }],
  ['gasMultiplier', { gasMultiplier: 1.5 }],
  ['lossDepth', { lossDepth: 3 }],
  ['fees.ceiling', { fees: { ceiling: { maxFeePerGas: 50n * GWEI } } }],
  ['fees.ceiling', { fees: { ceiling: { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: 1n } } }],
  ['fees.preset', { fees: { preset: 'urgent' } }],
  ['fees.groups', { fees: { groups: { slow: { ceiling: { maxFeePerGas: 1n } } } } }],
  ['fees.budget', { fees: { budget: { perDayWei: 1n } } }],
  ['fees.estimate', { fees: { estimate: async () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }) } }],
  ['fees.bump.percent', { fees: { bump: { percent: 20 } } }],
  ['fees.bump.attemptsMax', { fees: { bump: { attemptsMax: 3 } } }],
  ['limits.window', { limits: { window: 64 } }],
  ['limits.batchMax', { limits: { batchMax: 3 } }],
]

describe('a second sender of an account', () => {
  test.each(others)(
    'that names another value of %s is INVALID, and the lane goes on',
    async (name, options) => {
      await using lane = await openLane(FIRST)
      const sender = second(lane, options)
      const error = await lane.rejection(sender.send(transfer(1)))
      expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
      expect(error.message).toContain(name)
      expect(await lane.rejection(sender.ready())).toMatchObject({ code: 'INVALID' })
      await sender.close()
      const tx = await lane.settle(lane.sender.send(transfer(2)))
      await lane.settle(tx.wait('sealed'))
      expect(lane.executed()).toEqual([2])
    },
  )

  test('with the same values, or without values, shares the lane', async () => {
    await using lane = await openLane(FIRST)
    const given = {
      ...FIRST,
      broadcast: 'first',
      gasMultiplier: 1,
      lossDepth: 'child',
    } as const
    const ceiling = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: undefined }
    for (const [index, options] of [given, {}, { fees: { ceiling } }].entries()) {
      const sender = second(lane, options as Partial<LooseParameters>)
      const tx = await lane.settle(sender.send(transfer(index + 1)))
      await lane.settle(tx.wait('sealed'))
      await lane.settle(sender.close())
    }
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('has an order of its own', async () => {
    await using lane = await openLane({ ...FIRST, order: 'strict' })
    const sender = second(lane, { order: 'relaxed' })
    await lane.settle(sender.ready())
    await lane.settle(sender.close())
  })

  test('may have other values once the lane is closed', async () => {
    await using lane = await openLane(FIRST)
    const sender = second(lane, { limits: { window: 64 } })
    await lane.rejection(sender.ready())
    await lane.settle(lane.sender.close())
    await lane.settle(sender.ready())
    await lane.settle(sender.close())
  })
})

test('an allocator with another `limits.reservationTtlMs` than the sender is INVALID', async () => {
  await using lane = await openLane(FIRST)
  const { client, store } = lane.parameters
  const allocator = createNonceAllocatorIn(lane.environment, {
    client: client as never,
    store,
    address: ACCOUNT,
    limits: { reservationTtlMs: 1_000 },
  })
  const error = await lane.rejection(allocator.reserve())
  expect(error).toMatchObject({ code: 'INVALID' })
  expect(error.message).toContain('limits.reservationTtlMs')
  await lane.settle(allocator.close())
})
