import { describe, expect, test } from 'vitest'
import {
  nameOf,
  onSend,
  openLane,
  outbids,
  type SimLane,
  swallows,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { Tx, TxRequest } from '../../types/index.js'

const LANE_CEILING = 5_000_000n
const CEILING = { fees: { ceiling: { maxFeePerGas: LANE_CEILING } } }
/** Above the lane's ceiling. */
const NAMED = { maxFeePerGas: 9_000_000n, maxPriorityFeePerGas: 900_000n }

/** A transaction that the node accepts and never includes at any price. */
async function stuck(lane: SimLane, options: { feeCeiling?: bigint; gasPrice?: bigint } = {}): Promise<Tx> {
  lane.script = onSend((sent) => (nameOf(sent) === 1 ? swallows(sent) : undefined))
  const { gasPrice, ...sendOptions } = options
  const request = { ...transfer(1), ...(gasPrice === undefined ? {} : { gasPrice }) } as TxRequest
  return lane.settle(lane.sender.send(request, sendOptions))
}

const bytesOf = (lane: SimLane) =>
  new Set(lane.sent.filter((sent) => nameOf(sent) === 1).map(({ hash }) => hash))

describe('speedUp with fees', () => {
  test('offers the named fees, and the transaction lands', async () => {
    await using lane = await openLane()
    const tx = await stuck(lane)
    lane.script = undefined
    await lane.settle(tx.speedUp(NAMED))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.at(-1)).toMatchObject({ maxFeeWei: 9_000_000n, tipWei: 900_000n })
  })

  test("does not cap them at the lane's ceiling, because the caller named them", async () => {
    await using lane = await openLane(CEILING)
    const tx = await stuck(lane)
    lane.script = undefined
    await lane.settle(tx.speedUp(NAMED))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.at(-1)).toMatchObject({ maxFeeWei: 9_000_000n, tipWei: 900_000n })
  })

  test('rows 19 and 20, P3, P9: bumps twice beyond them in vain, and voids within two steps more', async () => {
    await using lane = await openLane(CEILING)
    const tx = await stuck(lane)
    await lane.settle(tx.speedUp(NAMED))
    const error = await lane.rejection(tx.wait('sealed'), 600_000)
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(lane.executed()).toEqual(['noop'])
    const above = lane.sent.filter(({ maxFeeWei }) => maxFeeWei > NAMED.maxFeePerGas)
    expect(new Set(above.map(({ hash }) => hash)).size).toBe(3)
    for (const { maxFeeWei } of above) expect(maxFeeWei).toBeLessThan((NAMED.maxFeePerGas * 153n) / 100n)
  })

  test('uses them for one bump, and the next bump follows the market', async () => {
    const [first, risen] = [2_000_000n, 12_000_000n]
    let market = first
    const estimate = async () => ({ maxFeePerGas: market, maxPriorityFeePerGas: market / 10n })
    await using lane = await openLane({ fees: { estimate } })
    const tx = await stuck(lane)
    await lane.settle(tx.speedUp({ maxFeePerGas: 3_000_000n }))
    await lane.until(() => tx.attempts.length === 2)
    market = risen
    await lane.until(() => tx.attempts.length === 3)
    expect(tx.attempts.map(({ fees }) => fees.maxFeePerGas)).toEqual([first, 3_000_000n, risen])
  })

  test('raises the cap as far as a named tip requires', async () => {
    await using lane = await openLane()
    const tx = await stuck(lane)
    lane.script = undefined
    await lane.settle(tx.speedUp({ maxPriorityFeePerGas: 9_000_000n }))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.at(-1)).toMatchObject({ maxFeeWei: 9_000_000n, tipWei: 9_000_000n })
  })

  test('accepts a gas price for a transaction that has one', async () => {
    await using lane = await openLane()
    const tx = await stuck(lane, { gasPrice: 2_000_000n })
    await lane.settle(tx.speedUp({ gasPrice: 7_000_000n }))
    await lane.until(() => tx.attempts.length === 2)
    expect(tx.attempts[1]?.fees).toEqual({ gasPrice: 7_000_000n })
  })
})

describe('speedUp with invalid fees rejects with INVALID, names them, and sends nothing', () => {
  const FIRST = { gasPrice: 2_000_000n }
  test.each([
    ['less than the minimum of a pool', {}, { maxFeePerGas: 1n }, 'fees.maxFeePerGas', '1n'],
    ['a lower tip', {}, { maxPriorityFeePerGas: 1n }, 'fees.maxPriorityFeePerGas', '1n'],
    ['a lower gas price', FIRST, { gasPrice: 2_100_000n }, 'fees.gasPrice', '2100000n'],
    [
      "above the transaction's own ceiling",
      { feeCeiling: 8_999_999n },
      NAMED,
      'fees.maxFeePerGas',
      '9000000n',
    ],
    ['of another kind', {}, { gasPrice: 9_000_000n }, 'fees.gasPrice', '9000000n'],
    ['of another kind, the other way', FIRST, NAMED, 'fees.maxFeePerGas', '9000000n'],
  ] as const)('%s', async (_, options, fees, argument, value) => {
    await using lane = await openLane()
    const tx = await stuck(lane, options)
    const error = await lane.rejection(tx.speedUp(fees))
    expect(error).toMatchObject({ code: 'INVALID' })
    expect(error.message).toContain(argument)
    expect(error.message).toContain(value)
    expect(bytesOf(lane).size).toBe(1)
    // The lane's own rule continues to apply.
    await lane.until(() => bytesOf(lane).size === 2)
    expect(outbids(lane.sent.at(-1), lane.sent[0])).toBe(true)
  })
})

describe('speedUp after the maximum number of bumps', () => {
  test.each([
    ['without fees', undefined],
    ['with fees', NAMED],
  ] as const)('%s: the caller may', async (_, fees) => {
    await using lane = await openLane({ fees: { bump: { attemptsMax: 1 } } })
    const tx = await stuck(lane)
    await lane.until(() => tx.attempts.length === 2)
    await lane.settle(tx.speedUp(fees))
    await lane.until(() => tx.attempts.length === 3)
    if (fees) expect(tx.attempts[2]?.fees).toEqual(NAMED)
    expect(lane.events('feeCeiling')).toEqual([])
  })
})
