import { describe, expect, test } from 'vitest'
import type { LaneCommand, LaneKey, StoredTransaction } from '../../types/store.js'
import type { TxOperations } from '../transaction/tx.js'
import type { LaneContext } from './core.js'
import { createRemoteCommands } from './operations.js'

const LANE = { chainId: 1, genesisHash: `0x${'01'.repeat(32)}`, address: `0x${'a1'.repeat(20)}` } as LaneKey
const OTHER = { ...LANE, address: `0x${'b2'.repeat(20)}` } as LaneKey

/** A lease owner without the transaction of the command. The transaction is stored in the lane `keptIn`. */
function fulfil(keptIn: LaneKey | undefined) {
  const passed: [string, LaneCommand][] = []
  const stored = keptIn && ({ id: 'a', lane: keptIn } as StoredTransaction)
  const context = {
    lane: { key: LANE, journal: { touch: () => {} } },
    transactions: new Map(),
    store: {
      find: async () => stored,
      postCommand: async (_: LaneKey, id: string, command: LaneCommand) => passed.push([id, command]) > 0,
    },
  } as unknown as LaneContext
  createRemoteCommands(context, {} as TxOperations).fulfil('a', { kind: 'cancel' })
  return new Promise<typeof passed>((resolve) => setImmediate(() => resolve(passed)))
}

describe('a command about a transaction that this lane does not have', () => {
  test('is forwarded if the transaction was handed to another lane before the command was read', async () => {
    expect(await fulfil(OTHER)).toEqual([['a', { kind: 'cancel' }]])
  })

  test('is ignored if the transaction belongs to this lane, or is unknown, because it would return for ever', async () => {
    expect(await fulfil(LANE)).toEqual([])
    expect(await fulfil(undefined)).toEqual([])
  })
})
