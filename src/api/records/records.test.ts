import { describe, expect, test } from 'vitest'
import type { Sender, Store, Tx } from '../../types/index.js'
import { openProcesses, type Process, type Processes } from '../sender/processes.fixture.js'
import { ACCOUNT, swallow, transfer } from '../sender/simLane.fixture.js'

const LIMITS = { readyTimeoutMs: 3_000 }
const OUTAGE = { code: 'UNREACHABLE' }

/** A process whose node does not answer, beside a process that has sent a transaction. */
async function darkBeside(world: Processes): Promise<readonly [Process, Process]> {
  const first = world.start()
  await world.lane.settle(first.sender.ready())
  const dark = world.start()
  dark.nodeIs(false)
  return [first, dark]
}

const found = async (world: Processes, sender: Sender, by: Parameters<Sender['get']>[0]): Promise<Tx> => {
  const tx = await world.lane.settle(sender.get(by))
  if (tx === undefined) throw new Error('it was not found')
  return tx
}

describe('while no endpoint answers', () => {
  test('a finalized transaction is found by id and by hash within seconds, and listed', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const [first, dark] = await darkBeside(world)
    const sent = await lane.settle(first.sender.send(transfer(1), { id: 'a' }))
    await lane.settle(sent.wait('finalized'), 4_000_000)
    await lane.until(() => sent.stage === 'finalized')
    await lane.blocks(2)
    const startedMs = lane.clock.now()
    const tx = await found(world, dark.sender, 'a')
    expect(lane.clock.now() - startedMs).toBeLessThan(1_500)
    expect(tx).toMatchObject({ id: 'a', stage: 'finalized', nonce: 0, hash: sent.hash })
    expect(tx.toJSON()).toEqual((await found(world, first.sender, 'a')).toJSON())
    expect(tx.attempts.map(({ hash }) => hash)).toEqual([sent.hash])
    expect(await found(world, dark.sender, { hash: sent.hash ?? '0x' })).toBe(tx)
    const page = await lane.settle(dark.sender.list())
    expect(page.items).toMatchObject([{ id: 'a', stage: 'finalized' }])
    expect(await lane.settle(dark.sender.get('b'))).toBeUndefined()
  })

  test('wait and cancel of a transaction that ended without execution report the end without a node', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const [first, dark] = await darkBeside(world)
    first.sender.pause()
    const sent = await lane.settle(first.sender.send(transfer(1), { id: 'a', until: 'queued' }))
    await lane.settle(sent.cancel())
    const tx = await found(world, dark.sender, 'a')
    expect(tx.stage).toBe('cancelled')
    expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'CANCELLED', fate: 'notExecuted' })
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'removed' })
    expect(await lane.rejection(tx.speedUp())).toMatchObject({ code: 'TOO_LATE' })
    expect(await lane.rejection(tx.replace(transfer(2)))).toMatchObject({ code: 'TOO_LATE' })
  })

  test('cancel, replace and speedUp of a transaction in flight reject with the outage and the fate', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const [first, dark] = await darkBeside(world)
    lane.script = swallow(1)
    await lane.settle(first.sender.send(transfer(1), { id: 'a' }))
    const tx = await found(world, dark.sender, 'a')
    expect(tx.stage).toBe('accepted')
    for (const change of [() => tx.cancel(), () => tx.replace(transfer(2)), () => tx.speedUp()]) {
      const error = await lane.rejection(change())
      expect(error).toMatchObject({ ...OUTAGE, fate: 'inFlight', tx: { id: 'a', stage: 'accepted' } })
    }
    expect(await lane.rejection(tx.wait('sealed', { timeoutMs: 500 }))).toMatchObject({
      code: 'WAIT_TIMEOUT',
      fate: 'inFlight',
    })
    const stopped = lane.rejection(tx.wait('sealed', { signal: AbortSignal.abort() }))
    expect(await stopped).toMatchObject({ code: 'ABORTED', fate: 'inFlight' })
  })

  test('wait continues once the lane opens, and the handle is live from then on', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const [first, dark] = await darkBeside(world)
    lane.script = swallow(1)
    await lane.settle(first.sender.send(transfer(1), { id: 'a' }))
    const tx = await found(world, dark.sender, 'a')
    const landing = tx.wait('sealed')
    await lane.clock.advance(20_000)
    expect(tx.stage).toBe('accepted')
    dark.nodeIs(true)
    lane.script = undefined
    expect(await lane.settle(landing)).toMatchObject({ stage: 'sealed', status: 'success', nonce: 0 })
    expect(tx.stage).toBe('sealed')
    expect(await lane.settle(tx.cancel())).toMatchObject({ result: 'tooLate' })
  })

  test('a found handle without a waiting caller becomes live too once another call opens the lane', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const [first, dark] = await darkBeside(world)
    lane.script = swallow(1)
    await lane.settle(first.sender.send(transfer(1), { id: 'a' }))
    const tx = await found(world, dark.sender, 'a')
    dark.nodeIs(true)
    await lane.settle(dark.sender.ready())
    lane.script = undefined
    await lane.until(() => tx.stage === 'sealed')
  })

  test('a wait rejects with CLOSED and the fate if the sender closes meanwhile', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const [first, dark] = await darkBeside(world)
    lane.script = swallow(1)
    await lane.settle(first.sender.send(transfer(1), { id: 'a' }))
    const tx = await found(world, dark.sender, 'a')
    const waiting = lane.rejection(tx.wait())
    await lane.settle(dark.sender.close())
    expect(await waiting).toMatchObject({ code: 'CLOSED', fate: 'inFlight', tx: { id: 'a' } })
    lane.script = undefined
  })

  test('rejects if the store keeps several chains with the same id', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const [first, dark] = await darkBeside(world)
    await lane.settle(first.sender.send(transfer(1), { id: 'a' }))
    const chainId = lane.chain.settings.chainId
    const other = { chainId, genesisHash: `0x${'77'.repeat(32)}` as const, address: ACCOUNT as `0x${string}` }
    await world.shared.acquire(other, 'another', 1)
    const error = await lane.rejection(dark.sender.get('a'))
    expect(error).toMatchObject(OUTAGE)
    expect(error.message).toContain('The store keeps 2 chains with the id')
    expect(await lane.rejection(dark.sender.list())).toMatchObject(OUTAGE)
    dark.nodeIs(true)
    expect(await found(world, dark.sender, 'a')).toMatchObject({ id: 'a' })
  })

  test('finds no record in a store without the chain, and adds no chain to it', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const dark = world.start()
    dark.nodeIs(false)
    expect(await lane.settle(dark.sender.get('a'))).toBeUndefined()
    expect(await lane.settle(dark.sender.list())).toEqual({ items: [] })
    expect(await world.shared.chains({ chainId: lane.chain.settings.chainId })).toEqual([])
  })

  test('reports the failure of the store if the store fails too', async () => {
    await using world = await openProcesses({ limits: LIMITS })
    const { lane } = world
    const dark = world.start()
    dark.nodeIs(false)
    const { TxlaneError } = await import('../../errors/base.js')
    const down = () => Promise.reject(new TxlaneError('Down.', { code: 'STORE', fate: 'notExecuted' }))
    Object.assign(dark.store as Store, { chains: down })
    expect(await lane.rejection(dark.sender.get('a'))).toMatchObject({ code: 'STORE', fate: 'inFlight' })
  })
})
