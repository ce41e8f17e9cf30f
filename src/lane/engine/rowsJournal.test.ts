import { describe, expect, test } from 'vitest'
import { foreignTransaction } from '../../../test/sim/foreign.js'
import type { VirtualClock } from '../../../test/sim/virtualClock.js'
import { createNonceAllocatorIn } from '../../api/allocators/allocator.js'
import { createSenderIn } from '../../api/sender/sender.js'
import {
  ACCOUNT,
  nameOf,
  onSend,
  openLane,
  type SimLane,
  swallow,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import { memoryStore } from '../../store/memory.js'
import type { LaneKey, LaneWrite, Store, StoredTransaction } from '../../types/store.js'

/** A store whose writes can be delayed, or fail before or after they took effect. */
function scriptedStore() {
  const inner = memoryStore()
  const journaled = new Set<string>()
  const store = {
    ...inner,
    fail: undefined as ((change: LaneWrite) => 'before' | 'after' | undefined) | undefined,
  }
  let wait = async () => {}
  const write: Store['write'] = async (lease, change) => {
    await wait()
    const failing = store.fail?.(change)
    if (failing === 'before') throw new Error('the connection is gone')
    await inner.write(lease, change)
    for (const slot of change.slots) for (const { hash } of slot.attempts) journaled.add(hash)
    if (failing === 'after') throw new Error('the connection is gone')
  }
  const slow = (clock: VirtualClock, ms: number) => {
    wait = () => new Promise((resolve) => clock.setTimer(resolve, ms))
  }
  return Object.assign(store, { write, journaled, slow })
}

const hasAttempts = (change: LaneWrite) => change.slots.some((slot) => slot.attempts.length > 0)

/** Another process on the same store and chain. It shares nothing else. */
function otherProcess(lane: SimLane) {
  return createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
}

describe('rows 1, 4 and 5: reserve and commit', () => {
  test('row 4, P6: sends no byte before its attempt is in the store', async () => {
    const store = scriptedStore()
    await using lane = await openLane({ store })
    store.slow(lane.clock, 70)
    const early: string[] = []
    lane.script = onSend(({ hash }) => {
      if (!store.journaled.has(hash)) early.push(hash)
      return undefined
    })
    const sent = await lane.settle(Promise.all([1, 2, 3].map((n) => lane.sender.send(transfer(n)))))
    await lane.settle(sent[2]?.wait() ?? Promise.reject())
    expect(early).toEqual([])
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('rows 1 and 4, P6: broadcasts a nonce once no lower reservation awaits its commit', async () => {
    const delays = [900, 0, 0]
    await using lane = await openLane({ signMs: () => delays.shift() ?? 0 })
    const all = Promise.all([1, 2, 3].map((n) => lane.sender.send(transfer(n))))
    await lane.clock.advance(500)
    expect(lane.sent).toEqual([])
    await lane.settle(all)
    expect(lane.sent.map(({ nonce }) => nonce)).toEqual([0, 1, 2])
  })

  test('row 21, P6: cancelled during its commit: sends nothing above before its no-op is in the store', async () => {
    const store = scriptedStore()
    const delays = [100, 0, 300]
    await using lane = await openLane({ store, signMs: () => delays.shift() ?? 0 })
    // The second transaction is in the store, and the first one's commit fails. The lane does not know yet
    // that the second one was stored.
    let failed = 0
    store.fail = ({ slots }) =>
      slots.some(({ nonce, attempts }) => nonce === 0 && attempts.length > 0) && failed++ === 0
        ? 'before'
        : undefined
    const expires = { atMs: lane.clock.wallNow() + 120 }
    const first = lane.rejection(lane.sender.send(transfer(1), { expires, onExpiry: 'cancel' }))
    const second = lane.sender.send(transfer(2))
    await lane.clock.advance(119)
    expect(failed).toBe(1)
    await lane.clock.advance(200)
    expect(lane.sent).toEqual([])
    expect(await first).toMatchObject({ code: 'EXPIRED', fate: 'inFlight' })
    await lane.settle((await lane.settle(second)).wait())
    expect(lane.sent.map(({ nonce }) => nonce)).toEqual([0, 1])
    expect(lane.executed()).toEqual(['noop', 2])
  })

  test('row 5: a commit with an unknown result holds the lane until the store was read; the write had succeeded', async () => {
    const store = scriptedStore()
    await using lane = await openLane({ store })
    let failed = 0
    store.fail = (change) => (hasAttempts(change) && failed++ === 0 ? 'after' : undefined)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(lane.events('held')).toEqual([{ reason: 'unknownCommit' }])
    expect(lane.events('released')).toEqual([{ reason: 'unknownCommit' }])
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual([1])
  })

  test('row 5: the write had failed: commits again, then sends', async () => {
    const store = scriptedStore()
    await using lane = await openLane({ store })
    let failed = 0
    store.fail = (change) => (hasAttempts(change) && failed++ < 3 ? 'before' : undefined)
    const early: string[] = []
    lane.script = onSend(({ hash }) => {
      if (!store.journaled.has(hash)) early.push(hash)
      return undefined
    })
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait())
    expect(early).toEqual([])
    expect(lane.executed()).toEqual([1])
    expect((await lane.snapshot()).holds).toEqual([])
  })

  test('a store that refuses the transaction: STORE, notExecuted, and the id is free again', async () => {
    const store = scriptedStore()
    const { enqueue } = store
    await using lane = await openLane({ store })
    store.enqueue = () => Promise.reject(new Error('disk full'))
    const error = await lane.rejection(lane.sender.send(transfer(1), { id: 'a' }))
    expect(error).toMatchObject({ code: 'STORE', fate: 'notExecuted' })
    store.enqueue = enqueue
    await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
  })
})

describe('rows 6 and 7: reserved, and nothing journaled', () => {
  test('row 6: the signer fails: SIGNER, notExecuted, and its nonce goes to the next transaction', async () => {
    let signatures = 0
    await using lane = await openLane({ fails: () => signatures++ === 0 })
    const error = await lane.rejection(lane.sender.send(transfer(1)))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted', tx: { stage: 'failed' } })
    const next = await lane.settle(lane.sender.send(transfer(2)))
    expect(next.nonce).toBe(0)
  })

  test('row 6, P5: aborted during signing: ABORTED, and its bytes are discarded', async () => {
    await using lane = await openLane({ signMs: () => 500 })
    const controller = new AbortController()
    const pending = lane.rejection(lane.sender.send(transfer(1), { signal: controller.signal }))
    await lane.clock.advance(200)
    controller.abort()
    expect(await pending).toMatchObject({ code: 'ABORTED', fate: 'notExecuted' })
    await lane.clock.advance(5_000)
    expect(lane.sent).toEqual([])
    expect(await lane.snapshot()).toMatchObject({ cursor: 0, inFlight: 0 })
  })

  test('row 7: its nonce was used during signing: another nonce, new bytes, once', async () => {
    const delays = [9_000]
    await using lane = await openLane({ signMs: () => delays.shift() ?? 0 })
    const pending = lane.sender.send(transfer(1))
    await lane.clock.advance(100)
    lane.foreign()
    const tx = await lane.settle(pending)
    expect(tx.nonce).toBe(1)
    await lane.settle(tx.wait())
    expect(lane.sent.map(({ nonce }) => nonce)).toEqual([1])
    expect(lane.executed()).toEqual(['foreign', 1])
  })
})

describe('rows 8 to 12: nonces that others may have used', () => {
  test('row 8: nonces between latest and pending are outside, not holes, and the lane continues above them', async () => {
    await using lane = await openLane({ chain: { rules: 'geth' }, coldStart: 'immediate', closed: true })
    lane.chain.submit(pooled(lane, 0).raw)
    lane.chain.submit(pooled(lane, 1).raw)
    lane.chain.start()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(tx.nonce).toBe(2)
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual(['foreign', 'foreign', 1])
  })

  test('row 12, P3: voids one that never lands with a no-op', async () => {
    await using lane = await openLane({ chain: { rules: 'geth' }, coldStart: 'immediate', closed: true })
    lane.chain.submit(pooled(lane, 0).raw)
    lane.chain.start()
    await lane.settle(lane.sender.ready())
    lane.chain.pool.evict(() => true)
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual(['noop', 1])
  })

  test('row 10: reuses a released external nonce for the next transaction', async () => {
    await using lane = await openLane()
    const allocator = createNonceAllocatorIn(lane.environment, {
      ...lane.parameters,
      address: ACCOUNT,
    } as never)
    const reservation = await lane.settle(allocator.reserve())
    expect(reservation.nonce).toBe(0)
    await lane.settle(reservation.release())
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(tx.nonce).toBe(0)
    await lane.settle(allocator.close())
  })

  test('row 11, P3: voids an external nonce without further calls after reservationTtlMs', async () => {
    await using lane = await openLane({ limits: { reservationTtlMs: 20_000 } })
    const allocator = createNonceAllocatorIn(lane.environment, {
      ...lane.parameters,
      address: ACCOUNT,
    } as never)
    await lane.settle(allocator.reserve())
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    expect(tx.nonce).toBe(1)
    await lane.clock.advance(15_000)
    expect(lane.sent.map(nameOf)).not.toContain('noop')
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual(['noop', 1])
    await lane.settle(allocator.close())
  })

  function pooled(lane: SimLane, nonce: number) {
    const { chainId } = lane.chain.settings
    return foreignTransaction({
      chainId,
      from: ACCOUNT,
      nonce,
      maxFeeWei: 10n ** 9n,
      tipWei: 10n ** 6n,
      salt: nonce,
    })
  }
})

describe('P7: one writer', () => {
  test('sends a transaction that another process left in the store once, and executes its commands', async () => {
    const kept: StoredTransaction[] = []
    const inner = memoryStore()
    const store: Store = {
      ...inner,
      enqueue: (transactions) => {
        kept.push(...transactions)
        return inner.enqueue(transactions)
      },
    }
    await using lane = await openLane({ store })
    const first = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    const key = kept[0]?.lane as LaneKey
    await lane.settle(first.wait())
    lane.script = swallow(3)
    const left = (id: string, marker: number) =>
      ({
        ...kept[0],
        id,
        request: transfer(marker),
        stage: 'queued',
        nonce: undefined,
        hash: undefined,
      }) as StoredTransaction
    await lane.settle(store.enqueue([left('b', 2), left('c', 3)]))
    await lane.settle(store.enqueue([left('b', 2)]))
    await lane.until(() => lane.sent.some((tx) => nameOf(tx) === 3))
    expect(await lane.settle(store.postCommand(key, 'c', { kind: 'cancel' }))).toBe(true)
    await lane.until(() => lane.events('cancelled').length > 0)
    expect(lane.executed()).toEqual([1, 2, 'noop'])
    await lane.blocks(2)
    expect((await lane.settle(store.arrivals(key, 0, 10))).commands).toEqual([])
  })

  test('P5: a transaction that ended while the store was read for new ones is not admitted from the result', async () => {
    const inner = memoryStore()
    const answers: (() => void)[] = []
    let slow = false
    const store: Store = {
      ...inner,
      async arrivals(...given) {
        const arrived = await inner.arrivals(...given)
        if (slow) await new Promise<void>((resolve) => answers.push(resolve))
        return arrived
      },
    }
    await using lane = await openLane({ store })
    lane.sender.pause()
    slow = true
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a', until: 'queued' }))
    await lane.clock.advance(5_000)
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'removed' })
    slow = false
    for (const answer of answers.splice(0)) answer()
    lane.sender.resume()
    await lane.blocks(3)
    expect(lane.executed()).toEqual([])
  })

  test('opens another process while the lane is owned, and gives it the lane at once after a clean close', async () => {
    await using lane = await openLane()
    const other = otherProcess(lane)
    await lane.settle(other.ready())
    expect(await lane.settle(other.snapshot())).toMatchObject({ holder: false })
    await lane.settle(lane.sender.close())
    await lane.settle((await lane.settle(other.send(transfer(1)))).wait())
    expect(await lane.settle(other.snapshot())).toMatchObject({ holder: true })
    await lane.settle(other.close())
  })

  test('P2: takes over transactions in flight with the same bytes, and answers their promises there', async () => {
    await using lane = await openLane()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a' }))
    const waiting = lane.rejection(tx.wait())
    await lane.settle(lane.sender.close())
    expect(await waiting).toMatchObject({ code: 'CLOSED', fate: 'inFlight' })
    lane.script = undefined
    const other = otherProcess(lane)
    const taken = await lane.settle(other.get('a'))
    expect(await lane.settle(taken?.wait() ?? Promise.reject())).toMatchObject({ hash: tx.hash, nonce: 0 })
    expect(new Set(lane.sent.map(({ hash }) => hash)).size).toBe(1)
    await lane.settle(other.close())
  })
})
