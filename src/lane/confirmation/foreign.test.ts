import { expect, test } from 'vitest'
import type { Tx } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import type { LaneContext } from '../engine/context.js'
import { tellForeign } from './foreign.js'
import { foreign } from './scriptedLane.fixture.js'

/** A lane whose store answers when it is let go. */
function laneWith(find: () => Promise<StoredTransaction | undefined>) {
  const emitted: unknown[] = []
  const errors: unknown[] = []
  const context = {
    closed: false,
    history: { block: 10, nonce: 3 },
    lane: { key: { chainId: 1, address: '0x01' } },
    store: { find },
    logger: {},
    errors: { note: (error: unknown) => void errors.push(error) },
    events: { emit: (_: string, payload: unknown) => void emitted.push(payload) },
  }
  return { context: context as unknown as LaneContext & { closed: boolean }, emitted, errors }
}

const payload = { nonce: 3, hash: foreign(3) }
const used = { ...payload, block: 11 }

test('what no store knows is foreign', async () => {
  const { context, emitted } = laneWith(async () => undefined)
  await tellForeign(context, used)
  expect(emitted).toEqual([payload])
})

test('what an earlier life of this lane sent is not', async () => {
  const { context, emitted } = laneWith(async () => ({ id: 'transaction-1' }) as StoredTransaction)
  await tellForeign(context, used)
  expect(emitted).toEqual([])
})

test('a store that fails is reported, and keeps nothing back', async () => {
  const { context, emitted, errors } = laneWith(async () => {
    throw new Error('the disk is full')
  })
  await tellForeign(context, used)
  expect(emitted).toEqual([payload])
  expect(errors).toHaveLength(1)
})

test('a lane that was closed while the store was asked says nothing any more', async () => {
  const { context, emitted } = laneWith(async () => {
    context.closed = true
    return undefined
  })
  await tellForeign(context, used)
  expect(emitted).toEqual([])
})

test('what stands in a block, or at a nonce, from before the first record is no news', async () => {
  const { context, emitted } = laneWith(async () => undefined)
  await tellForeign(context, { ...payload, block: 10 })
  await tellForeign(context, { ...payload, nonce: 2, block: undefined })
  expect(emitted).toEqual([])
})

test('it is where it took the place of a transaction, and where no block is known', async () => {
  const { context, emitted } = laneWith(async () => undefined)
  const tx = { id: 'transaction-1' } as Tx
  await tellForeign(context, { ...payload, block: 10, tx })
  await tellForeign(context, { ...payload, block: undefined })
  await tellForeign(context, { ...payload, nonce: 2, block: 11, tx })
  expect(emitted).toEqual([{ ...payload, tx }, payload, { ...payload, nonce: 2, tx }])
})
