import { expect, test } from 'vitest'
import { ACCOUNT } from '../../api/sender/simLane.fixture.js'
import type { StoredTransaction } from '../../types/store.js'
import { createStoredFinality } from './storedFinality.js'

test('reads the records that no object of this process stands for, again after a failed read', async () => {
  const records: Record<string, Partial<StoredTransaction>> = {
    a: { id: 'a', stage: 'sealed', lane: { address: ACCOUNT } as never },
    b: { id: 'b', stage: 'safe', lane: { address: ACCOUNT } as never },
    c: { id: 'c', stage: 'finalized', lane: { address: ACCOUNT } as never },
  }
  let fails = true
  const errors: unknown[] = []
  const done: string[] = []
  const finalize = createStoredFinality(
    {
      lane: { key: { address: ACCOUNT }, journal: { flushed: async () => {} } },
      store: {
        async find(_: unknown, { id }: { id: string }) {
          if (fails) throw new Error('unreachable')
          return records[id]
        },
      },
      transactions: new Map(),
      errors: { note: (error: unknown) => void errors.push(error) },
      closed: false,
    } as never,
    ({ id }) => void done.push(id),
  )
  finalize(['a', 'b', 'c'])
  await new Promise(setImmediate)
  expect(done).toEqual([])
  fails = false
  finalize([])
  await new Promise(setImmediate)
  expect(done).toEqual(['a', 'b'])
})
