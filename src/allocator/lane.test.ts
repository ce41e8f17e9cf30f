import { expect, test } from 'vitest'
import { createBook } from '../ledger/book.js'
import { systemClock } from '../platform/clock.js'
import { createTurns } from '../platform/turns.js'
import { memoryStore } from '../store/memory.js'
import type { Lease } from '../types/store.js'
import { createLane } from './lane.js'

const KEY = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'2'.repeat(40)}` } as const

test('reports newly covered nonces with each count of a pool, without waiting for a block or a poll', async () => {
  const store = memoryStore()
  const reported: number[] = []
  const lane = createLane({
    key: KEY,
    lease: (await store.acquire(KEY, 'me', 10_000)) as Lease,
    book: createBook({ floor: 0 }),
    store,
    clock: systemClock,
    turns: createTurns(systemClock),
    duties: {
      perform() {},
      moved() {},
      held() {},
      changedTransactions: () => [],
      failed() {},
      covered: () => void reported.push(lane.book.coveredTo),
    },
    tokenAbove: 0,
  })
  for (let nonce = 0; nonce < 10; nonce++) lane.apply(lane.next(), { type: 'handOut' })
  for (const count of [0, 4, 4, 2, 9]) lane.counted(count)
  expect(reported).toEqual([4, 9])
  lane.stop()
})
