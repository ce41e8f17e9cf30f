import { expect, test } from 'vitest'
import { systemClock } from '../clock.js'
import { createBook } from '../ledger/book.js'
import { createWindow } from '../ledger/window.js'
import { memoryStore } from '../store/memory.js'
import type { Lease } from '../store/store.js'
import { createLane } from './lane.js'

const KEY = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'2'.repeat(40)}` } as const

async function openLane(start: number) {
  const store = memoryStore()
  return createLane({
    key: KEY,
    lease: (await store.acquire(KEY, 'me', 10_000)) as Lease,
    book: createBook({ floor: 0 }),
    window: createWindow({ start, max: 2_048 }),
    store,
    clock: systemClock,
    duties: { perform() {}, moved() {}, held() {}, changedTransactions: () => [], failed() {} },
    tokenAbove: 0,
  })
}

test('the window opens with each count of a pool, and does not wait for a block or a poll', async () => {
  const lane = await openLane(64)
  lane.counted(0)
  const sizes = [64, 192, 448, 960].map((count) => {
    while (lane.room > 0) lane.apply(lane.next(), { type: 'handOut' })
    lane.counted(count)
    return lane.window.size
  })
  expect(sizes).toEqual([128, 256, 512, 1_024])
  lane.stop()
})
