import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../store/memory.js'
import type { Tx, TxRequest } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { KEYS, ONE_ETHER, openPools, type Pools, transfer } from './poolRelief.fixture.js'

const from = (key: number, request: TxRequest) => ({ ...request, account: KEYS[key] }) as unknown as TxRequest

/** A transaction of the second key, sent by a pool of two keys. */
const sentBySecond = ({ lane, pool }: Pools, options = {}): Promise<Tx> =>
  lane.settle(pool.send(from(1, transfer(1)), { id: 'rent', until: 'queued', ...options }))

/** A store that counts its calls. */
function countedStore() {
  const store = memoryStore()
  const counts = { find: 0, enqueue: 0 }
  const counted: Store = {
    ...store,
    find(...asked) {
      counts.find++
      return store.find(...asked)
    },
    enqueue(...asked) {
      counts.enqueue++
      return store.enqueue(...asked)
    },
  }
  return { store: counted, counts }
}

describe('a pool answers for an account that it no longer has', () => {
  test('the same id and request is the same transaction, in flight and after it has landed', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane } = pools
    const tx = await sentBySecond(pools)
    const other = pools.another(1)
    const again = await lane.settle(other.send(transfer(1), { id: 'rent' }))
    const landed = await lane.settle(again.wait('sealed'))
    expect(landed.receipt).toMatchObject({ status: 'success', from: KEYS[1] })
    expect(again.hash).toBe(tx.hash)
    const later = await lane.settle(other.send(transfer(1), { id: 'rent' }))
    expect(later).toMatchObject({ id: 'rent', hash: tx.hash, stage: 'sealed' })
    expect(pools.executed()).toEqual(['1@1'])
  })

  test('another request with that id is a conflict that names the field and sends nothing', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane } = pools
    const tx = await sentBySecond(pools)
    const other = pools.another(1)
    expect(await lane.rejection(other.send(transfer(2), { id: 'rent' }))).toMatchObject({
      code: 'ID_CONFLICT',
      fate: 'notExecuted',
      shortMessage: expect.stringContaining('stands for another request: to is'),
    })
    await lane.settle(tx.wait('sealed'))
    expect(pools.executed()).toEqual(['1@1'])
  })

  test('a request that names an account of this pool is a conflict with the fate of the sent transaction', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane } = pools
    const tx = await sentBySecond(pools)
    const other = pools.another(1)
    const conflict = () => lane.rejection(other.send(from(0, transfer(1)), { id: 'rent' }))
    expect(await conflict()).toMatchObject({ code: 'ID_CONFLICT', fate: 'inFlight', tx: { id: 'rent' } })
    await lane.settle(tx.wait('sealed'))
    expect(await conflict()).toMatchObject({
      code: 'ID_CONFLICT',
      fate: 'executed',
      tx: { id: 'rent', hash: tx.hash, stage: 'sealed' },
      shortMessage: `The id "rent" stands for the same request from the account ${KEYS[1]}: it is sealed.`,
    })
  })

  test('a transaction that ended without execution reports the reason and the fate notExecuted', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane } = pools
    const tx = await sentBySecond(pools, { expires: { atMs: lane.clock.wallNow() - 1 } })
    expect(tx.stage).toBe('failed')
    const other = pools.another(1)
    expect(await lane.rejection(other.send(transfer(1), { id: 'rent' }))).toMatchObject({
      code: 'ENDED',
      fate: 'notExecuted',
      tx: { id: 'rent', stage: 'failed' },
      cause: { code: 'EXPIRED', fate: 'notExecuted' },
    })
  })

  test('finds a transaction by its id and its hash, and follows it until it is final', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane } = pools
    const tx = await sentBySecond(pools)
    const other = pools.another(1)
    const found = await lane.settle(other.get('rent'))
    expect(found?.id).toBe('rent')
    await lane.settle(found!.wait('sealed'))
    expect(await lane.settle(other.get({ hash: tx.hash! }))).toMatchObject({ id: 'rent', stage: 'sealed' })
    await lane.settle(found!.wait('finalized'), 4_000_000)
    expect(found?.stage).toBe('finalized')
  })

  test('a wait for a later stage resolves for a transaction that had landed when it was found', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER], { lossDepth: 1 })
    const { lane } = pools
    const tx = await sentBySecond(pools)
    await lane.settle(tx.wait('sealed'))
    await lane.blocks(3)
    const found = await lane.settle(pools.another(1).get('rent'))
    expect(found?.stage).toBe('sealed')
    await lane.settle(found!.wait('finalized'), 4_000_000)
    expect(found?.stage).toBe('finalized')
  })

  test('does not read a found transaction again after it has landed', async () => {
    const { store, counts } = countedStore()
    await using pools = await openPools([ONE_ETHER, ONE_ETHER], { store, lossDepth: 1 })
    const { lane } = pools
    await lane.settle((await sentBySecond(pools)).wait('sealed'))
    await lane.blocks(3)
    const other = pools.another(1)
    await lane.settle(other.get('rent'))
    await lane.clock.advance(2_000)
    const asked = counts.find
    await lane.clock.advance(20_000)
    expect(counts.find).toBe(asked)
  })

  test('the owner of its lane executes a cancel', async () => {
    await using pools = await openPools([ONE_ETHER, 0n])
    const { lane } = pools
    const tx = await sentBySecond(pools)
    const found = await lane.settle(pools.another(1).get('rent'))
    expect(await lane.settle(found!.cancel())).toEqual({ result: 'removed' })
    expect(tx.stage).toBe('cancelled')
    expect(pools.executed()).toEqual([])
  })
})

describe('reads and writes of the store by a pool, for any number of keys', () => {
  test('one read for an unknown id', async () => {
    const { store, counts } = countedStore()
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], { store })
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    counts.find = 0
    expect(await lane.settle(pool.get('nobody'))).toBeUndefined()
    expect(counts.find).toBe(1)
  })

  test('one read and one write for a new transaction with an id', async () => {
    const { store, counts } = countedStore()
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], { store })
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    Object.assign(counts, { find: 0, enqueue: 0 })
    await lane.settle(pool.send(transfer(1), { id: 'a', until: 'queued' }))
    expect(counts).toEqual({ find: 1, enqueue: 1 })
  })

  test('no read for a transaction in flight in this process', async () => {
    const { store, counts } = countedStore()
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], { store })
    const { lane, pool } = pools
    const tx = await lane.settle(pool.send(transfer(1), { id: 'a', until: 'queued' }))
    counts.find = 0
    expect(await lane.settle(pool.get('a'))).toBe(tx)
    expect(counts.find).toBe(0)
  })
})
