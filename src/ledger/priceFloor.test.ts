import { describe, expect, test } from 'vitest'
import type { FeeNeeds, Fees } from './fees.js'
import { atFloor, beyond, loweredBy, NO_FLOOR, type PriceFloor, raisedBy } from './priceFloor.js'

const MINUTE_MS = 60_000
const pair = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): Fees => ({
  maxFeePerGas,
  maxPriorityFeePerGas,
})
const OFFERED = pair(100n, 10n)
const NOTHING = pair(0n, 0n)

function refused(
  needs: FeeNeeds | undefined,
  over: { floor?: PriceFloor; offered?: Fees; baseFee?: bigint; nowMs?: number } = {},
): PriceFloor {
  const { floor = NO_FLOOR, offered = OFFERED, baseFee, nowMs = 0 } = over
  return raisedBy(floor, { offered, needs, baseFee, nowMs })
}

describe('a refusal with a stated number above the offer', () => {
  test('raises the floor: a tip raises the tip, and the cap by as much, so the room for the base fee stays', () => {
    const floor = refused({ maxPriorityFeePerGas: 25n })
    expect(atFloor(OFFERED, floor, 1)).toEqual(pair(115n, 25n))
    expect(atFloor(pair(40n, 30n), floor, 1)).toEqual(pair(40n, 30n))
  })

  test('with a cap raises the cap alone', () => {
    const floor = refused({ maxFeePerGas: 130n })
    expect(atFloor(OFFERED, floor, 1)).toEqual(pair(130n, 10n))
    expect(floor.tip).toBeUndefined()
  })

  test('with both raises both', () => {
    const floor = refused({ maxPriorityFeePerGas: 25n, maxFeePerGas: 120n })
    expect(atFloor(OFFERED, floor, 1)).toEqual(pair(120n, 25n))
  })

  test('raises a gas price to the higher of the two', () => {
    for (const needs of [
      { maxPriorityFeePerGas: 25n, maxFeePerGas: 12n },
      { maxPriorityFeePerGas: 12n, maxFeePerGas: 25n },
    ]) {
      const floor = refused(needs, { offered: { gasPrice: 10n } })
      expect(atFloor({ gasPrice: 10n }, floor, 1)).toEqual({ gasPrice: 25n })
      expect(atFloor({ gasPrice: 30n }, floor, 1)).toEqual({ gasPrice: 30n })
    }
  })

  test('holds for ten minutes', () => {
    const floor = refused({ maxPriorityFeePerGas: 25n })
    expect(atFloor(OFFERED, floor, 10 * MINUTE_MS - 1)).toEqual(pair(115n, 25n))
    expect(atFloor(OFFERED, floor, 10 * MINUTE_MS)).toEqual(OFFERED)
  })

  test('with a base fee raises the cap to the next base fee, for a minute', () => {
    const floor = refused({ baseFeePerGas: 800n })
    expect(atFloor(OFFERED, floor, MINUTE_MS - 1)).toEqual(pair(900n, 10n))
    expect(atFloor(OFFERED, floor, MINUTE_MS)).toEqual(OFFERED)
    // An eighth more, rounded up.
    expect(atFloor(OFFERED, refused({ baseFeePerGas: 801n }), 1)).toEqual(pair(902n, 10n))
  })
})

describe('a refusal without a number that explains it', () => {
  test('raises both fees by half, for a minute', () => {
    for (const needs of [undefined, {}, { maxPriorityFeePerGas: 10n, maxFeePerGas: 100n }]) {
      const floor = refused(needs)
      expect(atFloor(NOTHING, floor, MINUTE_MS - 1)).toEqual(pair(151n, 16n))
      expect(atFloor(NOTHING, floor, MINUTE_MS)).toEqual(NOTHING)
    }
    // An offer of zero rises as well.
    expect(atFloor(NOTHING, refused(undefined, { offered: NOTHING }), 1)).toEqual(pair(1n, 1n))
  })

  test('raises the cap alone if the base fee explains it: the tip was not too low', () => {
    expect(atFloor(NOTHING, refused(undefined, { baseFee: 89n }), 1)).toEqual(pair(151n, 0n))
    // An eighth more is 99, which the cap covers.
    expect(atFloor(NOTHING, refused(undefined, { baseFee: 88n }), 1)).toEqual(pair(151n, 16n))
    expect(atFloor(NOTHING, refused(undefined, { baseFee: 88n, offered: pair(99n, 10n) }), 1)).toEqual(
      pair(149n, 16n),
    )
  })

  test('raises a gas price, which is one number, by half', () => {
    const floor = refused(undefined, { offered: { gasPrice: 10n } })
    expect(atFloor({ gasPrice: 10n }, floor, 1)).toEqual({ gasPrice: 16n })
    expect(floor.tip).toBeUndefined()
  })
})

describe('one refusal after another', () => {
  test('keep the higher number, and renew an equal one', () => {
    const first = refused({ maxPriorityFeePerGas: 25n })
    const lower = refused({ maxPriorityFeePerGas: 20n }, { floor: first, nowMs: 5 * MINUTE_MS })
    expect(atFloor(OFFERED, lower, 6 * MINUTE_MS)).toEqual(pair(115n, 25n))
    const equal = refused({ maxPriorityFeePerGas: 25n }, { floor: first, nowMs: 5 * MINUTE_MS })
    expect(atFloor(OFFERED, equal, 15 * MINUTE_MS - 1)).toEqual(pair(115n, 25n))
  })

  test('do not keep an expired price for being higher', () => {
    const first = refused({ maxPriorityFeePerGas: 25n })
    const next = refused({ maxPriorityFeePerGas: 20n }, { floor: first, nowMs: 10 * MINUTE_MS })
    expect(atFloor(OFFERED, next, 10 * MINUTE_MS)).toEqual(pair(110n, 20n))
  })

  test('for one fee leave the other unchanged', () => {
    const floor = refused({ maxFeePerGas: 200n }, { floor: refused({ maxPriorityFeePerGas: 25n }) })
    expect(atFloor(OFFERED, floor, 1)).toEqual(pair(200n, 25n))
  })
})

describe('an offer that the node accepts', () => {
  const made = () => refused({ maxPriorityFeePerGas: 25n, maxFeePerGas: 200n })

  test('lowers each fee of the floor to it', () => {
    const floor = made()
    expect(atFloor(NOTHING, loweredBy(floor, pair(300n, 20n)), 1)).toEqual(pair(200n, 20n))
    expect(atFloor(NOTHING, loweredBy(floor, pair(150n, 30n)), 1)).toEqual(pair(150n, 25n))
    expect(atFloor(NOTHING, loweredBy(floor, pair(150n, 20n)), 1)).toEqual(pair(150n, 20n))
  })

  test('with a gas price lowers both to it', () => {
    const lowered = loweredBy(made(), { gasPrice: 20n })
    expect([lowered.tip?.wei, lowered.cap?.wei]).toEqual([20n, 20n])
    expect(atFloor({ gasPrice: 10n }, lowered, 1)).toEqual({ gasPrice: 20n })
  })

  test('never raises the floor, and creates none', () => {
    const floor = made()
    expect(loweredBy(floor, pair(500n, 500n))).toEqual(floor)
    expect(loweredBy(NO_FLOOR, OFFERED)).toEqual(NO_FLOOR)
  })
})

describe('a minimum above the ceiling', () => {
  test('is reported if the node stated it, as a tip or a cap, and no bump within the ceiling reaches it', () => {
    for (const needs of [{ maxPriorityFeePerGas: 250n }, { maxFeePerGas: 250n }]) {
      const floor = refused(needs)
      expect(beyond(floor, 249n, 1)).toBe(250n)
      expect(beyond(floor, 250n, 1)).toBeUndefined()
      expect(beyond(floor, 249n, 10 * MINUTE_MS)).toBeUndefined()
    }
    expect(beyond(refused({ maxPriorityFeePerGas: 250n, maxFeePerGas: 260n }), 10n, 1)).toBe(260n)
  })

  test('is none if it was only inferred, or is a base fee: both may go down on their own', () => {
    expect(beyond(refused(undefined), 10n, 1)).toBeUndefined()
    expect(beyond(refused({ baseFeePerGas: 800n }), 10n, 1)).toBeUndefined()
    expect(beyond(NO_FLOOR, 0n, 1)).toBeUndefined()
  })
})
