import { describe, expect, test } from 'vitest'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import { memoryStore } from '../../store/memory.js'
import type { Store, StoredTransaction } from '../../types/store.js'

const STORE_MS = 50
/** The lane polls every two seconds, so a faster reaction comes from a notification. */
const NOTIFIED_MS = 500

describe('arrivals in the store for the leader of the lane', () => {
  test('a transaction that this process stored itself is not read back', async () => {
    const inner = memoryStore()
    let reads = 0
    const store: Store = {
      ...inner,
      arrivals(...asked) {
        reads++
        return inner.arrivals(...asked)
      },
    }
    await using lane = await openLane({ store })
    const before = reads
    await lane.settle(Promise.all([1, 2, 3].map((marker) => lane.sender.send(transfer(marker)))))
    expect(lane.sent).toHaveLength(3)
    expect(reads).toBe(before)
  })

  test('a transaction that another process stored meanwhile is picked up as soon as the store has answered', async () => {
    const inner = memoryStore()
    const kept: StoredTransaction[] = []
    const slow: Store = {
      ...inner,
      async enqueue(transactions) {
        kept.push(...transactions)
        await new Promise<void>((resolve) => void lane.clock.setTimer(resolve, STORE_MS))
        throw new Error('disk full')
      },
    }
    await using lane = await openLane({ store: slow })
    const own = lane.rejection(lane.sender.send(transfer(1)))
    await lane.until(() => kept.length === 1)
    const other = { ...kept[0], id: 'other', request: transfer(2) } as StoredTransaction
    await lane.settle(inner.enqueue([other]))
    expect(await own).toMatchObject({ code: 'STORE' })
    // No other write triggers a read.
    await lane.until(() => lane.sent.length === 1, NOTIFIED_MS)
    await lane.blocks(2)
    expect(lane.executed()).toEqual([2])
  })
})
