import { describe, expect, test } from 'vitest'
import { programRequest } from '../../../test/sim/program.js'
import { createSenderIn } from '../../api/sender/sender.js'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'
import type { TxRequest } from '../../types/index.js'

const LIMIT = 10_000_000
const chain = { gasLimit: LIMIT }
const asking = (gas: bigint, marker = 1) => ({ ...transfer(marker), gas }) as TxRequest
const tooMuch = {
  code: 'INVALID',
  fate: 'notExecuted',
  shortMessage: expect.stringMatching(
    /request\.gas: expected at most 10000000, the gas limit of block \d+, got 10000001n/,
  ),
}

describe('more gas than the limit of a block is rejected before anything is stored', () => {
  test.each([{}, { until: 'queued' }, { id: 'a' }, { id: 'a', until: 'queued' }] as const)(
    'send with %j',
    async (options) => {
      await using lane = await openLane({ chain })
      expect(await lane.rejection(lane.sender.send(asking(10_000_001n), options))).toMatchObject(tooMuch)
      expect([lane.sent, (await lane.settle(lane.sender.list())).items]).toEqual([[], []])
      const tx = await lane.settle(lane.sender.send(asking(10_000_000n), options))
      await lane.settle(tx.wait())
      expect(lane.executed()).toEqual([1])
    },
  )

  test('in a replacement, and in a sequence', async () => {
    await using lane = await openLane({ chain: { ...chain, rules: 'geth', blockTimeMs: 60_000 } })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(await lane.rejection(tx.replace(asking(10_000_001n, 2)))).toMatchObject(tooMuch)
    const sequence = lane.sender.sendSequence([transfer(3), asking(10_000_001n, 4)])
    expect(await lane.rejection(sequence)).toMatchObject(tooMuch)
    expect(lane.sent).toHaveLength(1)
  })

  test('a known id gets its old transaction, although blocks have become smaller', async () => {
    const store = memoryStore()
    await using lane = await openLane({ chain, store })
    await lane.settle(
      (await lane.settle(lane.sender.send(asking(10_000_000n), { id: 'a' }))).wait('finalized'),
    )
    await lane.settle(lane.sender.close())
    lane.script = undefined
    const next = createSenderIn(
      { ...lane.environment, shared: createShared() },
      { ...lane.parameters, store },
    )
    const again = await lane.settle(next.send(asking(10_000_001n), { id: 'a' }))
    expect([again.stage, lane.executed()]).toEqual(['finalized', [1]])
    await lane.settle(next.close())
  })
})

test('a multiplied estimate does not exceed the gas limit of a block', async () => {
  await using lane = await openLane({ chain, gasMultiplier: 2 })
  lane.script = ({ method }) =>
    method === 'eth_estimateGas' ? { ok: true, result: `0x${(LIMIT - 1).toString(16)}` } : undefined
  const request = programRequest({ kind: 'call', marker: 1 }) as TxRequest
  const tx = await lane.settle(lane.sender.send(request))
  expect(tx.toJSON().gas).toBe('10000000')
})
