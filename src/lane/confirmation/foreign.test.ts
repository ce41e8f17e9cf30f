import { expect, test } from 'vitest'
import type { Tx } from '../../types/index.js'
import type { StoredTransaction } from '../../types/store.js'
import type { LaneContext } from '../engine/core.js'
import { emitForeign } from './foreign.js'
import { foreign } from './scriptedLane.fixture.js'

/** A lane whose store answers when the test releases it. */
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

test('emits foreign for a transaction that no store knows', async () => {
  const { context, emitted } = laneWith(async () => undefined)
  await emitForeign(context, used)
  expect(emitted).toEqual([payload])
})

test('emits nothing for a transaction of an earlier process of this lane', async () => {
  const { context, emitted } = laneWith(async () => ({ id: 'transaction-1' }) as StoredTransaction)
  await emitForeign(context, used)
  expect(emitted).toEqual([])
})

test('reports an error of the store, and emits foreign all the same', async () => {
  const { context, emitted, errors } = laneWith(async () => {
    throw new Error('the disk is full')
  })
  await emitForeign(context, used)
  expect(emitted).toEqual([payload])
  expect(errors).toHaveLength(1)
})

test('emits nothing if the lane was closed during the lookup', async () => {
  const { context, emitted } = laneWith(async () => {
    context.closed = true
    return undefined
  })
  await emitForeign(context, used)
  expect(emitted).toEqual([])
})

test('emits nothing for a block, or a nonce, from before the first record', async () => {
  const { context, emitted } = laneWith(async () => undefined)
  await emitForeign(context, { ...payload, block: 10 })
  await emitForeign(context, { ...payload, nonce: 2, block: undefined })
  expect(emitted).toEqual([])
})

test('emits foreign for such a nonce if it was taken from a transaction, or if the block is unknown', async () => {
  const { context, emitted } = laneWith(async () => undefined)
  const tx = { id: 'transaction-1' } as Tx
  await emitForeign(context, { ...payload, block: 10, tx })
  await emitForeign(context, { ...payload, block: undefined })
  await emitForeign(context, { ...payload, nonce: 2, block: 11, tx })
  expect(emitted).toEqual([{ ...payload, tx }, payload, { ...payload, nonce: 2, tx }])
})
