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

/** A transaction that the node took and never includes, whatever it offers. */
async function stuck(lane: SimLane, options: { feeCeiling?: bigint; gasPrice?: bigint } = {}): Promise<Tx> {
  lane.script = onSend((sent) => (nameOf(sent) === 1 ? swallows(sent) : undefined))
  const { gasPrice, ...sendOptions } = options
  const request = { ...transfer(1), ...(gasPrice === undefined ? {} : { gasPrice }) } as TxRequest
  return lane.settle(lane.sender.send(request, sendOptions))
}

const bytesOf = (lane: SimLane) =>
  new Set(lane.sent.filter((sent) => nameOf(sent) === 1).map(({ hash }) => hash))

describe('speedUp with fees', () => {
  test('they are offered as they were named, and it lands', async () => {
    await using lane = await openLane()
    const tx = await stuck(lane)
    lane.script = undefined
    await lane.settle(tx.speedUp(NAMED))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.at(-1)).toMatchObject({ maxFeeWei: 9_000_000n, tipWei: 900_000n })
  })

  test("above the lane's ceiling they are offered uncut: they are the caller's own", async () => {
    await using lane = await openLane(CEILING)
    const tx = await stuck(lane)
    lane.script = undefined
    await lane.settle(tx.speedUp(NAMED))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.at(-1)).toMatchObject({ maxFeeWei: 9_000_000n, tipWei: 900_000n })
  })

  test('rows 19 and 20, P3, P9: in vain, it is bumped twice beyond them, and voided within two steps more', async () => {
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

  test('they are for that bump: the next one follows the market', async () => {
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

  test('a tip alone: the cap rises as far as it has to', async () => {
    await using lane = await openLane()
    const tx = await stuck(lane)
    lane.script = undefined
    await lane.settle(tx.speedUp({ maxPriorityFeePerGas: 9_000_000n }))
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.at(-1)).toMatchObject({ maxFeeWei: 9_000_000n, tipWei: 9_000_000n })
  })

  test('a gas price of a transaction that has one', async () => {
    await using lane = await openLane()
    const tx = await stuck(lane, { gasPrice: 2_000_000n })
    await lane.settle(tx.speedUp({ gasPrice: 7_000_000n }))
    await lane.until(() => tx.attempts.length === 2)
    expect(tx.attempts[1]?.fees).toEqual({ gasPrice: 7_000_000n })
  })
})

describe('speedUp with fees that cannot be taken: INVALID, naming them, and nothing is sent', () => {
  const FIRST = { gasPrice: 2_000_000n }
  test.each([
    ['less than a pool takes', {}, { maxFeePerGas: 1n }, 'fees.maxFeePerGas', '1n'],
    ['a tip that is less', {}, { maxPriorityFeePerGas: 1n }, 'fees.maxPriorityFeePerGas', '1n'],
    ['a gas price that is less', FIRST, { gasPrice: 2_100_000n }, 'fees.gasPrice', '2100000n'],
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
    // The lane's own rule goes on with it.
    await lane.until(() => bytesOf(lane).size === 2)
    expect(outbids(lane.sent.at(-1), lane.sent[0])).toBe(true)
  })
})

describe('speedUp of what was bumped as often as it may be', () => {
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
