import { inspect } from 'node:util'
import { getAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import { ACCOUNT, openLane, refuses, swallow, transfer } from '../../api/sender/simLane.fixture.js'

const FROM = getAddress(ACCOUNT)
const { to } = transfer(1) as { to: `0x${string}` }

describe('a record contains the known data of its transaction, as plain JSON', () => {
  test('before the transaction has a nonce', async () => {
    await using lane = await openLane({ balanceWei: 0n })
    const tx = await lane.settle(
      lane.sender.send({ ...transfer(1), value: 5n }, { id: 'a', until: 'queued' }),
    )
    await lane.blocks(2)
    const record = tx.toJSON()
    expect(record).toEqual({
      id: 'a',
      chainId: lane.chain.settings.chainId,
      from: FROM,
      to,
      value: '5',
      stage: 'queued',
      gas: '21000',
      attempts: [],
      createdAt: expect.stringMatching(/^2025-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: record.createdAt,
      waitingFor: expect.stringContaining('wei'),
    })
    expect(JSON.parse(JSON.stringify(record))).toEqual(record)
    expect((await lane.settle(lane.sender.list())).items).toEqual([record])
    await lane.settle(tx.cancel())
  })

  test('after it has landed', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const { receipt } = await lane.settle(tx.wait('sealed'))
    expect(tx.toJSON()).toMatchObject({
      stage: 'sealed',
      nonce: 0,
      hash: receipt?.transactionHash,
      status: 'success',
      fees: {
        maxFeePerGas: expect.stringMatching(/^\d+$/),
        maxPriorityFeePerGas: expect.stringMatching(/^\d+$/),
      },
    })
    expect(tx.toJSON()).not.toHaveProperty('waitingFor')
    expect(tx.toJSON()).not.toHaveProperty('error')
  })

  test('after it ended without execution, with the reason, also in another process', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    lane.script = ({ method }) =>
      method === 'eth_estimateGas' ? refuses('execution reverted', 3) : undefined
    const { gas: _, ...request } = transfer(1)
    const tx = await lane.settle(leader.sender.send(request as never, { id: 'a', until: 'queued' }))
    await lane.until(() => tx.stage === 'failed')
    const record = tx.toJSON()
    expect(record.error).toEqual({
      code: 'PREPARE_REVERTED',
      fate: 'notExecuted',
      message: expect.stringContaining('revert'),
      details: 'execution reverted',
    })
    const elsewhere = await lane.settle(standby.sender.get('a'))
    expect(elsewhere?.toJSON()).toEqual(record)
    expect((await lane.settle(standby.sender.list())).items).toEqual([record])
  })

  test('after it has landed, with its block, also in another process and after its nonce is final', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    const tx = await lane.settle(leader.sender.send(transfer(1), { id: 'a' }))
    expect(tx.toJSON()).not.toHaveProperty('block')
    await lane.settle(tx.wait('sealed'))
    const at = lane.chain.canonical.find(({ executed }) => executed.length > 0)
    const block = { number: at?.number, hash: at?.hash }
    expect(tx.toJSON()).toMatchObject({ stage: 'sealed', block })
    await lane.settle(tx.wait('finalized'), 4_000_000)
    await lane.clock.advance(5_000)
    expect((await lane.settle(standby.sender.get('a')))?.toJSON()).toMatchObject({
      stage: 'finalized',
      block,
    })
    expect((await lane.settle(standby.sender.list())).items).toMatchObject([{ id: 'a', block }])
  })

  test('fits a screen when printed by the console, with one line per attempt if there are several', async () => {
    await using lane = await openLane({ chain: { rules: 'geth' } })
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a', group: 'orders' }))
    expect(inspect(tx)).toMatch(/^Tx \{\n {2}id: 'a',/)
    expect(inspect(tx)).toContain("fees: { maxFeePerGas: '2100000', maxPriorityFeePerGas: '100000' }")
    expect(inspect(tx)).not.toContain('attempts')
    await lane.settle(tx.speedUp())
    await lane.until(() => tx.attempts.length === 2)
    const [first, second] = tx.attempts
    const line = ({ nonce, hash, fees }: NonNullable<typeof first>) =>
      `'${nonce} ${hash} ${fees.maxFeePerGas} ${fees.maxPriorityFeePerGas}'`
    expect(inspect({ tx })).toContain(line(first!))
    expect(inspect({ tx })).toContain(line(second!))
    expect(inspect({ tx }, { depth: 5 })).not.toContain('[Object]')
    lane.script = undefined
    await lane.settle(tx.wait())
  })

  test('has no address for a creation, and names the replaced transaction', async () => {
    await using lane = await openLane({ chain: { blockTimeMs: 60_000 } })
    const tx = await lane.settle(lane.sender.send({ data: '0x6000', gas: 100_000n } as never, { id: 'a' }))
    expect(tx.toJSON()).not.toHaveProperty('to')
    const next = await lane.settle(tx.replace(transfer(2), { until: 'queued' }))
    expect(next.toJSON()).toMatchObject({ replaces: 'a', to: (transfer(2) as { to: string }).to })
    await lane.settle(next.wait('finalized'), 4_000_000)
    const { items } = await lane.settle(lane.sender.list())
    expect(items.find(({ id }) => id === next.id)).toMatchObject({ replaces: 'a', stage: 'finalized' })
  })
})
