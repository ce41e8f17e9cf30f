import type { Hash } from 'viem'
import { describe, expect, it } from 'vitest'
import { attempt, hash, liveSlot } from '../ledger/samples.fixture.js'
import type { Stage } from '../types/index.js'
import type { LaneKey, Lease, Store, StoredTransaction } from '../types/store.js'
import { memoryStore } from './memory.js'

const lane: LaneKey = { chainId: 31_337, genesisHash: hash('genesis'), address: '0xaa' }

function stored(id: string, stage: Stage, own?: Hash): StoredTransaction {
  return {
    id,
    lane,
    fingerprint: hash(`print${id}`),
    request: {},
    sequence: 1,
    priority: 0,
    gas: undefined,
    feeCeiling: undefined,
    expiresAtMs: undefined,
    stage,
    nonce: 7,
    hash: own,
    status: undefined,
    failure: undefined,
    createdAtMs: 0,
  } as StoredTransaction
}

async function held(store: Store) {
  const lease = (await store.acquire(lane, 'me', 10_000)) as Lease
  return (slots: Parameters<Store['write']>[1]['slots'], ...transactions: StoredTransaction[]) =>
    store.write(lease, { slots, transactions, cursor: 8 })
}

describe('a memory store with a short history', () => {
  it('forgets what an outbox has told of a transaction with it', async () => {
    const store = memoryStore({ historyMax: 1 })
    const write = await held(store)
    for (const id of ['a', 'b']) await store.enqueue([stored(id, 'queued')])
    const lease = await store.takeOutbox('orders', 'me', 10_000)
    if (lease === undefined) throw new Error('nobody has it')
    const chain = { chainId: lane.chainId, genesisHash: lane.genesisHash }
    const open = (id: string) => ({ chain, id, state: 'open', count: 0, tries: 0 }) as const
    await store.writeOutbox(lease, { read: [], deliveries: [open('a'), open('b')] })
    await write([], stored('a', 'finalized'), { ...stored('b', 'finalized'), sequence: 2 })
    expect(await store.deliveries('orders', { chain, ids: ['a', 'b'] })).toEqual([open('b')])
    expect((await store.readOutbox('orders')).open).toBe(1)
  })

  it('forgets every hash of a transaction with it: those of bumps, and those of late writes of its slot', async () => {
    const store = memoryStore({ historyMax: 1 })
    const write = await held(store)
    const slot = liveSlot({ attempts: [attempt('a', 'a1'), attempt('a', 'a2')] })
    await store.enqueue([stored('a', 'queued')])
    await write([slot], stored('a', 'accepted', hash('a2')))
    expect((await store.find(lane, { hash: hash('a1') }))?.id).toBe('a')

    await write([], stored('a', 'finalized', hash('a1')))
    await write([], stored('b', 'finalized', hash('b1')))
    await write([slot])

    for (const gone of ['a1', 'a2']) expect(await store.find(lane, { hash: hash(gone) })).toBeUndefined()
    expect((await store.find(lane, { hash: hash('b1') }))?.id).toBe('b')

    // Had a hash been kept, the id's next owner would be found by it.
    await store.enqueue([stored('a', 'queued')])
    for (const gone of ['a1', 'a2']) expect(await store.find(lane, { hash: hash(gone) })).toBeUndefined()
  })

  it('does not forget one that had ended and is in flight again', async () => {
    const store = memoryStore({ historyMax: 1 })
    const write = await held(store)
    await write([], stored('a', 'finalized', hash('a1')))
    await write([], stored('a', 'accepted', hash('a1')))
    for (const id of ['b', 'c', 'd']) await write([], stored(id, 'failed'))
    expect((await store.find(lane, { id: 'a' }))?.stage).toBe('accepted')
    expect(await store.find(lane, { id: 'c' })).toBeUndefined()
  })

  it('knows the hashes of a transaction that is first written together with its slot', async () => {
    const store = memoryStore()
    const write = await held(store)
    await write([liveSlot()], stored('a', 'accepted'))
    expect((await store.find(lane, { hash: hash('a1') }))?.id).toBe('a')
  })
})
