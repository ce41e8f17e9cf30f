import { describe, expect, test } from 'vitest'
import type { LaneKey, StoredTransaction, Wish } from '../../types/store.js'
import type { TxOperations } from '../transaction/tx.js'
import type { LaneContext } from './context.js'
import { createWishes } from './remoteCommands.js'

const LANE = { chainId: 1, genesisHash: `0x${'01'.repeat(32)}`, address: `0x${'a1'.repeat(20)}` } as LaneKey
const OTHER = { ...LANE, address: `0x${'b2'.repeat(20)}` } as LaneKey

/** A holder that does not know what the wish is about; it is kept where `keptIn` says. */
function fulfil(keptIn: LaneKey | undefined) {
  const passed: [string, Wish][] = []
  const stored = keptIn && ({ id: 'a', lane: keptIn } as StoredTransaction)
  const context = {
    lane: { key: LANE, journal: { touch: () => {} } },
    transactions: new Map(),
    store: {
      find: async () => stored,
      wish: async (_: LaneKey, id: string, wish: Wish) => passed.push([id, wish]) > 0,
    },
  } as unknown as LaneContext
  createWishes(context, {} as TxOperations).fulfil('a', { kind: 'cancel' })
  return new Promise<typeof passed>((resolve) => setImmediate(() => resolve(passed)))
}

describe('a wish about what this lane does not have', () => {
  test('follows it where it was handed to another lane before the wish was read', async () => {
    expect(await fulfil(OTHER)).toEqual([['a', { kind: 'cancel' }]])
  })

  test('is left alone where it is of this lane, or nobody knows it: it would come back for ever', async () => {
    expect(await fulfil(LANE)).toEqual([])
    expect(await fulfil(undefined)).toEqual([])
  })
})
