import { encodeErrorResult } from 'viem'
import { expect, test } from 'vitest'
import { programRequest } from '../../../test/sim/program.js'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import { openLane, type SimLane, swallow, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import type { Tx, TxRequest } from '../../types/index.js'
import { ATTEMPTS_MAX } from './attempts.js'

/** The record in a third process that has never seen the transaction, once the two others have ended. */
async function saidLater(world: Awaited<ReturnType<typeof openProcesses>>, id: string) {
  const later = world.start()
  const found = await world.lane.settle(later.sender.get(id))
  const { items } = await world.lane.settle(later.sender.list())
  expect(items.find((one) => one.id === id)).toEqual(found?.toJSON())
  return found?.toJSON()
}

const isoAt = (lane: SimLane) => new Date(lane.clock.wallNow()).toISOString()

test('a record shows the times of the last change and of the outcome, in every process and after a restart', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [leader, standby] = await world.pair()
  const tx = await lane.settle(leader.sender.send(transfer(1), { id: 'a' }))
  const { createdAt, updatedAt, finishedAt } = tx.toJSON()
  expect(updatedAt! > createdAt).toBe(true)
  expect(finishedAt).toBeUndefined()
  await lane.settle(tx.wait('sealed'))
  const sealedAt = isoAt(lane)
  expect(tx.toJSON().finishedAt).toBeUndefined()
  await lane.settle(tx.wait('finalized'), 4_000_000)
  await lane.clock.advance(5_000)
  const record = tx.toJSON()
  // At `lossDepth`, which comes between the two.
  expect(record.finishedAt! >= sealedAt).toBe(true)
  expect(record.finishedAt! < record.updatedAt!).toBe(true)
  expect((await lane.settle(standby.sender.get('a')))?.toJSON()).toEqual(record)
  await lane.settle(Promise.all([leader.sender.close(), standby.sender.close()]))
  expect(await saidLater(world, 'a')).toEqual(record)
})

test('an end without execution sets both times', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [leader] = await world.pair()
  leader.sender.pause()
  const tx = await lane.settle(leader.sender.send(transfer(1), { id: 'a', until: 'queued' }))
  await lane.clock.advance(1_000)
  await lane.settle(tx.cancel())
  const record = tx.toJSON()
  expect(record.stage).toBe('cancelled')
  expect(record.finishedAt).toBe(record.updatedAt)
  expect(Date.parse(record.finishedAt!) - Date.parse(record.createdAt)).toBeGreaterThanOrEqual(1_000)
  expect(await saidLater(world, 'a')).toEqual(record)
})

test('a record lists all signed attempts, oldest first, in every process and after a restart', async () => {
  await using world = await openProcesses({ chain: { rules: 'geth' } })
  const { lane } = world
  const [leader, standby] = await world.pair()
  lane.script = swallow(1)
  const tx = await lane.settle(leader.sender.send(transfer(1), { id: 'a' }))
  for (let bump = 1; bump <= 2; bump++) {
    await lane.settle(tx.speedUp())
    await lane.until(() => tx.attempts.length === bump + 1)
  }
  lane.script = undefined
  const { attempts } = tx.toJSON()
  const signed = [...new Set(lane.sent.map(({ hash }) => hash))]
  expect(attempts.map(({ hash }) => hash)).toEqual(signed)
  const offers = attempts.map(({ fees }) => Number((fees as { maxFeePerGas: string }).maxFeePerGas))
  expect(offers).toEqual([...offers].sort((one, other) => one - other))
  const times = attempts.map(({ signedAt }) => signedAt)
  expect(times).toEqual([...times].sort())
  expect(tx.toJSON().fees).toEqual(attempts.at(-1)?.fees)
  await lane.settle(tx.wait('finalized'), 4_000_000)
  await lane.clock.advance(5_000)
  const elsewhere = await lane.settle(standby.sender.get('a'))
  expect(elsewhere?.attempts).toEqual(tx.attempts)
  expect(elsewhere?.toJSON().attempts).toEqual(attempts)
  expect((await saidLater(world, 'a'))?.attempts).toEqual(attempts)
})

test('keeps the newest of many attempts', async () => {
  await using world = await openProcesses({ chain: { rules: 'geth' } })
  const { lane } = world
  const [leader] = await world.pair()
  lane.script = swallow(1)
  const tx = await lane.settle(leader.sender.send(transfer(1)))
  const hashes = new Set([tx.hash])
  let fee = 10n ** 8n
  for (let bump = 0; bump < ATTEMPTS_MAX + 4; bump++) {
    fee = (fee * 13n) / 10n
    await lane.settle(tx.speedUp({ maxFeePerGas: fee, maxPriorityFeePerGas: fee }))
    await lane.until(() => tx.hash !== [...hashes].at(-1))
    hashes.add(tx.hash)
  }
  lane.script = undefined
  expect(tx.attempts.map(({ hash }) => hash)).toEqual([...hashes].slice(-ATTEMPTS_MAX))
  await lane.settle(tx.wait('sealed'))
})

test('a record shows the cost once a wait has read its receipt, in every process and after a restart', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [leader, standby] = await world.pair()
  const tx = await lane.settle(leader.sender.send(transfer(1), { id: 'a' }))
  await lane.settle(tx.wait('preconfirmed'))
  expect(tx.toJSON()).not.toHaveProperty('costs')
  const { receipt } = await lane.settle(tx.wait('sealed'))
  const { gasUsed, effectiveGasPrice } = receipt!
  const costs = {
    gasUsed: `${gasUsed}`,
    effectiveGasPrice: `${effectiveGasPrice}`,
    totalFee: `${gasUsed * effectiveGasPrice}`,
  }
  expect(tx.toJSON().costs).toEqual(costs)
  await lane.settle(tx.wait('finalized'), 4_000_000)
  await lane.clock.advance(5_000)
  expect((await lane.settle(standby.sender.get('a')))?.toJSON()).toMatchObject({ costs, status: 'success' })
  expect(await saidLater(world, 'a')).toMatchObject({ costs, status: 'success' })
})

test('stores the data of a receipt that a wait reads after the transaction is final', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [leader] = await world.pair()
  const tx = await lane.settle(leader.sender.send(transfer(1), { id: 'a' }))
  await lane.settle(tx.wait('finalized'), 4_000_000)
  await lane.clock.advance(1_000)
  const record = tx.toJSON()
  expect(record).toMatchObject({ status: 'success', costs: { gasUsed: '21000' } })
  expect(await saidLater(world, 'a')).toEqual(record)
})

test('a reverted transaction shows so with the fate executed, in every process and after a restart', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [leader, standby] = await world.pair()
  const request = { ...programRequest({ kind: 'revert', marker: 1 }), gas: 60_000n } as TxRequest
  const tx = await lane.settle(leader.sender.send(request, { id: 'a' }))
  await lane.settle(tx.wait('sealed'))
  const error = { code: 'REVERTED', fate: 'executed', message: 'It executed and reverted.' }
  expect(tx.toJSON()).toMatchObject({ status: 'reverted', error })
  await lane.settle(tx.wait('finalized'), 4_000_000)
  await lane.clock.advance(5_000)
  expect((await lane.settle(standby.sender.get('a')))?.toJSON()).toMatchObject({ stage: 'finalized', error })
  expect(await saidLater(world, 'a')).toMatchObject({ error })
})

test('a reorg removes the data of the block, and the next block sets it again', async () => {
  await using lane = await openLane({ lossDepth: 8 })
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.settle(tx.wait('sealed'))
  const { costs, updatedAt, block } = tx.toJSON()
  expect(costs).toBeDefined()
  await lane.clock.advance(3_000)
  lane.chain.reorg({ depth: 3, drops: () => true })
  await lane.until(() => tx.stage === 'accepted')
  expect(tx.toJSON()).not.toHaveProperty('costs')
  expect(tx.toJSON()).not.toHaveProperty('status')
  expect(tx.toJSON().updatedAt! > updatedAt!).toBe(true)
  await lane.settle(tx.wait('sealed'))
  expect(tx.toJSON()).toMatchObject({ costs, status: 'success' })
  expect(tx.toJSON().block).not.toEqual(block)
})

/** Without pre-confirmations, so that no transaction is in a block before the test checks it. */
async function replaced(lane: SimLane, tx: Tx): Promise<Tx> {
  const next = await lane.settle(tx.replace(transfer(2), { id: 'b' }))
  lane.script = undefined
  await lane.settle(next.wait('finalized'), 4_000_000)
  await lane.clock.advance(5_000)
  return next
}

test('a replaced transaction and its replacement name each other, in every process', async () => {
  await using world = await openProcesses({ chain: { rules: 'geth' } })
  const { lane } = world
  const [leader, standby] = await world.pair()
  lane.script = swallow(1)
  const tx = await lane.settle(leader.sender.send(transfer(1), { id: 'a', group: 'quotes' }))
  expect(tx.toJSON()).not.toHaveProperty('supersededBy')
  const next = await replaced(lane, tx)
  expect(tx.toJSON()).toMatchObject({ stage: 'superseded', supersededBy: 'b' })
  expect(next.toJSON()).toMatchObject({ replaces: 'a', group: 'quotes' })
  for (const id of ['a', 'b']) {
    const record = { a: tx, b: next }[id]?.toJSON()
    expect((await lane.settle(standby.sender.get(id)))?.toJSON()).toEqual(record)
    expect(await saidLater(world, id)).toEqual(record)
  }
})

test('a replaced transaction whose nonce another wallet used names its replacement, which continues', async () => {
  await using lane = await openLane({ chain: { rules: 'geth' } })
  lane.script = swallow(1, 2)
  const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
  const next = await lane.settle(tx.replace(transfer(2), { id: 'b' }))
  lane.foreign()
  lane.script = undefined
  await lane.settle(next.wait('sealed'))
  await lane.until(() => tx.stage === 'superseded')
  expect(tx.toJSON()).toMatchObject({ supersededBy: 'b' })
  expect(next.toJSON()).toMatchObject({ nonce: 1, replaces: 'a' })
  expect(next.toJSON().attempts.map(({ nonce }) => nonce)).toEqual([0, 1])
})

test('a transaction that was replaced before it had a nonce names its replacement', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [leader] = await world.pair()
  leader.sender.pause()
  const tx = await lane.settle(leader.sender.send(transfer(1), { id: 'a', until: 'queued' }))
  const next = await lane.settle(tx.replace(transfer(2), { id: 'b', until: 'queued' }))
  await lane.until(() => tx.stage === 'superseded')
  expect(tx.toJSON()).toMatchObject({ supersededBy: next.id })
  expect(await saidLater(world, 'a')).toMatchObject({ supersededBy: next.id })
  leader.sender.resume()
  await lane.settle(next.wait())
})

test('keeps the message and the data of a revert before the send, also after a restart', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [leader] = await world.pair()
  const data = encodeErrorResult({
    abi: [{ type: 'error', name: 'Error', inputs: [{ type: 'string', name: 'message' }] }],
    errorName: 'Error',
    args: ['not enough'],
  })
  const failure = { kind: 'rpc', code: 3, message: 'execution reverted: not enough', data } as const
  lane.script = ({ method }): RpcReply | undefined =>
    method === 'eth_estimateGas' ? { ok: false, failure } : undefined
  const { gas: _, ...request } = transfer(1)
  const tx = await lane.settle(
    leader.sender.send(request as TxRequest, { id: 'a', until: 'queued', group: 'orders of today' }),
  )
  await lane.until(() => tx.stage === 'failed')
  await lane.clock.advance(1_000)
  const record = tx.toJSON()
  expect(record.error).toMatchObject({
    code: 'PREPARE_REVERTED',
    fate: 'notExecuted',
    details: 'execution reverted: not enough',
    reason: 'not enough',
    data,
  })
  expect(await saidLater(world, 'a')).toEqual(record)
})
