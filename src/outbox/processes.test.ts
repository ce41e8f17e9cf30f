import { describe, expect, test } from 'vitest'
import { memoryStore } from '../store/memory.js'
import type { Store } from '../types/store.js'
import { blockOf, OTHER_LANE, openOutboxes, scripted } from './outbox.fixture.js'

const SEALED = { stage: 'sealed', block: blockOf('1'), nonce: 3 } as const
const FINALIZED = { ...SEALED, stage: 'finalized', verdict: 'landed' } as const
const never = () => new Promise(() => {})

describe('a process that is killed', () => {
  test('between the stage and the call loses nothing: the next process delivers it', async () => {
    const { clock, put, started } = openOutboxes()
    const first = await started()
    first.kill()
    await put('a', SEALED)
    await put('b', { stage: 'failed' })
    const second = await started()
    await clock.advance(15_000)
    expect(first.calls).toEqual([])
    expect(second.calls.toSorted()).toEqual(['a:sealed', 'b:failed'])
  })

  test('while its handler runs delivers once more, with the same key', async () => {
    const { clock, put, started } = openOutboxes()
    const first = await started({ onStage: never })
    await put('a', SEALED)
    await clock.advance(2_000)
    first.kill()
    const second = await started()
    await clock.advance(15_000)
    expect([first.calls, second.calls]).toEqual([['a:sealed'], ['a:sealed']])
    expect(second.deliveries[0]?.key).toBe(first.deliveries[0]?.key)
  })

  test('while its handler runs, and before a reorg, is corrected by the next process', async () => {
    const { clock, put, started } = openOutboxes()
    const first = await started({ onStage: never })
    await put('a', SEALED)
    await clock.advance(2_000)
    first.kill()
    await put('a', { stage: 'accepted', block: undefined })
    const second = await started()
    await clock.advance(15_000)
    expect(second.calls).toEqual(['a:reorged'])
  })

  test('at any of its writes loses nothing, and never delivers backwards', async () => {
    for (let writes = 0; writes < 14; writes++) {
      const inner = memoryStore({ now: () => clock.wallNow() })
      let left = writes
      const store: Store = {
        ...inner,
        durable: true,
        async writeOutbox(lease, change) {
          if (left-- === 0) first.kill()
          return inner.writeOutbox(lease, change)
        },
      }
      const { clock, put, start } = openOutboxes(store)
      const first = start({ from: 'oldest' })
      for (const id of ['a', 'b']) await put(id, SEALED)
      await clock.advance(3_000)
      for (const id of ['a', 'b']) await put(id, FINALIZED)
      await put('c', { stage: 'cancelled' })
      await clock.advance(3_000)
      first.kill()
      left = -1
      const second = start({ from: 'oldest' })
      await clock.advance(30_000)
      const all = [...first.calls, ...second.calls]
      expect([...new Set(all)].toSorted(), `killed at write ${writes}`).toEqual(
        ['a:finalized', 'a:sealed', 'b:finalized', 'b:sealed', 'c:cancelled'].toSorted(),
      )
      expect(all.lastIndexOf('a:sealed')).toBeLessThan(all.indexOf('a:finalized'))
      expect((await second.outbox.snapshot()).waiting).toBe(0)
    }
  })

  test('leaves failed deliveries, with their reason and their tries, to the next process', async () => {
    const { clock, put, started } = openOutboxes()
    const first = await started({ onStage: () => Promise.reject(new Error('no')) })
    await put('a', SEALED)
    await clock.advance(6_000)
    first.kill()
    const second = await started({ onStage: scripted(never) })
    await clock.advance(15_000)
    const { failing } = await second.outbox.snapshot()
    expect(failing).toMatchObject([{ id: 'a', reason: 'no' }])
    expect(second.deliveries[0]?.attempt).toBe(first.calls.length + 1)
  })
})

describe('two processes with one name', () => {
  test('share the work: one delivers, and the other continues at once when the first closes', async () => {
    const { clock, put, started, settle } = openOutboxes()
    const first = await started()
    const second = await started()
    await put('a', SEALED)
    await clock.advance(5_000)
    expect([first.calls, second.calls]).toEqual([['a:sealed'], []])
    const snapshots = await Promise.all([first, second].map(({ outbox }) => outbox.snapshot()))
    expect(snapshots.map(({ delivers, isHeld }) => [delivers, isHeld])).toEqual([
      [true, true],
      [false, true],
    ])
    await expect(second.outbox.retry()).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await settle(first.outbox.close())
    await put('b', SEALED)
    await clock.advance(3_500)
    expect(second.calls).toEqual(['b:sealed'])
  })

  test('close waits for the running handler, and an accepted delivery is not repeated', async () => {
    const { clock, put, started, settle } = openOutboxes()
    let accept = () => {}
    const first = await started({
      onStage: () =>
        new Promise<void>((resolve) => {
          accept = resolve
        }),
    })
    const second = await started()
    await put('a', SEALED)
    await clock.advance(2_000)
    let isClosed = false
    const closing = first.outbox.close().then(() => {
      isClosed = true
    })
    // Longer than the lease.
    await clock.advance(20_000)
    expect(isClosed).toBe(false)
    expect(second.calls).toEqual([])
    accept()
    await settle(closing)
    await clock.advance(20_000)
    expect(second.calls).toEqual([])
    await expect(first.outbox.retry()).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test("a process that was paused for longer than its lease does not change the other's deliveries", async () => {
    const { clock, put, started, kept } = openOutboxes()
    let accept = () => {}
    const first = await started({
      onStage: () =>
        new Promise<void>((resolve) => {
          accept = resolve
        }),
    })
    const second = await started()
    await put('a', SEALED)
    await clock.advance(2_000)
    first.stop()
    await clock.advance(15_000)
    await put('a', FINALIZED)
    await clock.advance(3_000)
    expect(second.calls).toEqual(['a:sealed', 'a:finalized'])
    const delivered = await kept('a')
    // Its write is in transit when it wakes up.
    accept()
    await clock.settle()
    first.cont()
    await clock.advance(60_000)
    expect(first.calls).toEqual(['a:sealed'])
    expect(await kept('a')).toEqual(delivered)
    expect((await first.outbox.snapshot()).delivers).toBe(false)
  })

  test('names are separate: each of two outboxes delivers everything', async () => {
    const { clock, put, started } = openOutboxes()
    const first = await started()
    const second = await started({ name: 'mail' })
    await put('a', SEALED)
    await put('b', SEALED, OTHER_LANE)
    await clock.advance(3_000)
    expect(first.calls.toSorted()).toEqual(['a:sealed', 'b:sealed'])
    expect(second.calls.toSorted()).toEqual(['a:sealed', 'b:sealed'])
    expect(first.deliveries[0]?.key).not.toBe(second.deliveries[0]?.key)
  })
})

describe('a failing store', () => {
  test('is reported, and deliveries that were not stored meanwhile are made once it answers', async () => {
    const inner = memoryStore({ now: () => 0 })
    let isDown = false
    const down = <T>(verb: () => Promise<T>) =>
      isDown ? Promise.reject(new Error('postgres://user:pass@db is down')) : verb()
    const store: Store = {
      ...inner,
      readOutbox: (name) => down(() => inner.readOutbox(name)),
      writeOutbox: (lease, change) => down(() => inner.writeOutbox(lease, change)),
      takeOutbox: (...of) => down(() => inner.takeOutbox(...of)),
    }
    const { clock, put, started } = openOutboxes(store)
    const { calls, outbox } = await started()
    await put('a', SEALED)
    isDown = true
    await clock.advance(5_000)
    expect(calls).toEqual([])
    isDown = false
    expect((await outbox.snapshot()).trouble).toMatch(/is down/)
    expect((await outbox.snapshot()).trouble).not.toMatch(/pass/)
    await clock.advance(10_000)
    expect(calls).toEqual(['a:sealed'])
    expect((await outbox.snapshot()).trouble).toBeUndefined()
  })

  test('in the middle of a write gets the write again: an accepted delivery is not repeated', async () => {
    const inner = memoryStore({ now: () => 0 })
    let failures = 0
    const store: Store = {
      ...inner,
      async writeOutbox(lease, change) {
        if (change.deliveries.some(({ state }) => state === 'delivered') && failures++ < 3)
          throw new Error('down')
        return inner.writeOutbox(lease, change)
      },
    }
    const { clock, put, started, kept, settle } = openOutboxes(store)
    const first = await started({ stages: ['sealed'] })
    await put('a', SEALED)
    await clock.advance(10_000)
    expect(failures).toBe(4)
    expect(first.calls).toEqual(['a:sealed'])
    expect(await kept('a')).toMatchObject({ state: 'delivered', delivered: { stage: 'sealed' } })
    await settle(first.outbox.close())
  })

  test('that is slow loses no change made while it is read', async () => {
    const inner = memoryStore({ now: () => 0 })
    let isSlow = false
    let go = () => {}
    const store: Store = {
      ...inner,
      async find(chain, by) {
        const found = await inner.find(chain, by)
        if (isSlow)
          await new Promise<void>((resolve) => {
            go = resolve
          })
        return found
      },
    }
    const { clock, put, started } = openOutboxes(store)
    const { calls } = await started()
    isSlow = true
    await put('a', SEALED)
    await clock.advance(2_000)
    expect(calls).toEqual(['a:sealed'])
    await put('a', FINALIZED)
    await clock.advance(2_000)
    isSlow = false
    go()
    await clock.advance(2_000)
    expect(calls).toEqual(['a:sealed', 'a:finalized'])
  })

  test('gets the state of a delivery before its call', async () => {
    const inner = memoryStore({ now: () => 0 })
    let isStuck = true
    const store: Store = {
      ...inner,
      async writeOutbox(lease, change) {
        const isReorg = change.deliveries.some(({ next }) => next?.stage === 'reorged')
        if (isReorg && isStuck) throw new Error('down')
        return inner.writeOutbox(lease, change)
      },
    }
    const { clock, put, started } = openOutboxes(store)
    const { calls } = await started({ onStage: scripted(() => Promise.reject(new Error('no'))) })
    await put('a', SEALED)
    await clock.advance(1_200)
    await put('a', { stage: 'accepted', block: undefined })
    await clock.advance(20_000)
    expect(calls).toEqual(['a:sealed'])
    isStuck = false
    await clock.advance(10_000)
    expect(calls).toEqual(['a:sealed', 'a:reorged'])
  })

  test('that fails for longer than the lease ends the deliveries until the lease is taken again', async () => {
    const inner = memoryStore({ now: () => 0 })
    let isDown = false
    const store: Store = {
      ...inner,
      takeOutbox: (...of) => (isDown ? Promise.reject(new Error('down')) : inner.takeOutbox(...of)),
    }
    const { clock, put, started } = openOutboxes(store)
    const { calls, outbox } = await started()
    isDown = true
    await clock.advance(11_000)
    expect((await outbox.snapshot()).delivers).toBe(false)
    await put('a', SEALED)
    await clock.advance(5_000)
    expect(calls).toEqual([])
    isDown = false
    await clock.advance(5_000)
    expect(calls).toEqual(['a:sealed'])
  })
})
