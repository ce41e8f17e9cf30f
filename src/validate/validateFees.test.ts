import { describe, expect, test } from 'vitest'
import { openLane, transfer } from '../api/sender/simLane.fixture.js'
import type { TxRequest } from '../types/index.js'
import { checkCost } from './validateFees.js'

const MOST = 2n ** 256n - 1n
const named = (fees: object) => ({ ...transfer(1), ...fees }) as TxRequest

describe('fees that a transaction names and may not offer', () => {
  test.each([
    [{ maxFeePerGas: 11n }, 'maxFeePerGas'],
    [{ maxFeePerGas: 11n, maxPriorityFeePerGas: 1n }, 'maxFeePerGas'],
    [{ gasPrice: 11n }, 'gasPrice'],
    [{ maxPriorityFeePerGas: 11n }, 'maxPriorityFeePerGas'],
  ])('%o above a feeCeiling of 10', (fees, name) => {
    expect(() => checkCost(named(fees), { feeCeiling: 10n })).toThrow(
      `Invalid request.${name}: expected at most 10 wei, the transaction's own feeCeiling, got 11n.`,
    )
  })

  test('fees up to the ceiling are accepted, and so is a ceiling below the current base fee: base fees fall', async () => {
    checkCost(named({ maxFeePerGas: 10n }), { feeCeiling: 10n })
    checkCost(named({}), { feeCeiling: 1n })
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1), { feeCeiling: 1n, until: 'queued' }))
    await lane.blocks(1)
    expect(tx.stage).not.toBe('failed')
    await lane.settle(tx.cancel())
  })

  test('it is refused at the call: nothing is asked of a node, kept or sent', async () => {
    await using lane = await openLane({ closed: true })
    const request = named({ maxFeePerGas: 11n })
    const refused = [
      lane.sender.send(request, { feeCeiling: 10n, id: 'one' }),
      lane.sender.sendSequence([transfer(2), request], { feeCeiling: 10n }),
    ]
    for (const each of refused)
      expect(await lane.rejection(each)).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(lane.requests).toEqual([])
  })

  test('of a replacement, too', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
    const replaced = tx.replace(named({ maxFeePerGas: 11n }), { feeCeiling: 10n })
    expect(await lane.rejection(replaced)).toMatchObject({ code: 'INVALID' })
    lane.sender.resume()
    await lane.settle(tx.wait('sealed'))
  })
})

describe('costs that no account can pay', () => {
  test.each([
    { value: MOST, maxFeePerGas: 1n },
    { value: MOST - 21_000n + 1n, gasPrice: 1n },
    { value: 1n, gas: 2n ** 64n - 1n, maxFeePerGas: 2n ** 200n },
  ])('%o', (fields) => {
    expect(() => checkCost(named(fields), {})).toThrow(/^Invalid request\.value.*2\^256 wei/)
  })

  test('a cost that an account could pay is accepted: its balance is checked later', () => {
    checkCost(named({ value: MOST - 21_000n, gasPrice: 1n }), {})
    checkCost(named({ value: MOST }), {})
  })
})
