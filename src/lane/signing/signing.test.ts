import { describe, expect, test } from 'vitest'
import { openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import { memoryStore } from '../../store/memory.js'
import type { Store } from '../../types/store.js'

const SIGN_MS = 50
const COMMIT_MS = 40

const burst = (lane: SimLane, count: number) =>
  lane.settle(Promise.all(Array.from({ length: count }, (_, index) => lane.sender.send(transfer(index + 1)))))

describe('P6, P9: signing ahead of the journal, and of the wire', () => {
  test('a slow signer signs several at once, and they are sent in the order of their nonces', async () => {
    let under = 0
    let most = 0
    // A later signature may be done before an earlier one.
    let turn = 0
    await using lane = await openLane({ signMs: () => SIGN_MS + (turn++ % 7) * 3, limits: { signMax: 16 } })
    const { signTransaction } = lane.account
    lane.account.signTransaction = async (...given: Parameters<typeof signTransaction>) => {
      most = Math.max(most, ++under)
      return signTransaction(...given).finally(() => under--)
    }
    const begun = lane.clock.now()
    await burst(lane, 64)
    expect(most).toBe(16)
    // Sequential signatures would have taken 64 times as long as one.
    expect(lane.clock.now() - begun).toBeLessThan(16 * SIGN_MS)
    expect(lane.sent.map(({ nonce }) => nonce)).toEqual(Array.from({ length: 64 }, (_, nonce) => nonce))
  })

  test('a slow store gets few writes, and no signature waits for a write', async () => {
    const inner = memoryStore()
    const writes: number[] = []
    let slow = false
    const store: Store = {
      ...inner,
      async write(lease, change) {
        if (slow) {
          writes.push(change.slots.filter(({ state }) => state === 'live').length)
          await new Promise<void>((resolve) => void lane.clock.setTimer(resolve, COMMIT_MS))
        }
        return inner.write(lease, change)
      },
    }
    await using lane = await openLane({ store, limits: { signMax: 8 } })
    slow = true
    await burst(lane, 60)
    // 8 concurrent signatures, but more than 8 of them in one write.
    expect(Math.max(...writes)).toBeGreaterThan(8)
    expect(Math.max(...writes)).toBeLessThanOrEqual(64)
    expect(writes.filter((count) => count > 0).length).toBeLessThan(6)
    slow = false
  })

  test('transactions behind a failed signature are sent as soon as it has failed', async () => {
    await using lane = await openLane()
    const { signTransaction } = lane.account
    lane.account.signTransaction = async (...given: Parameters<typeof signTransaction>) => {
      if ((given[0] as { nonce?: number }).nonce !== 0) return signTransaction(...given)
      await new Promise<void>((resolve) => void lane.clock.setTimer(resolve, SIGN_MS))
      throw new Error('the signer is not available')
    }
    const begun = lane.clock.now()
    const failed = lane.rejection(lane.sender.send(transfer(1)))
    const sent = lane.sender.send(transfer(2))
    expect(await failed).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    await lane.until(() => lane.sent.length > 0)
    expect(lane.sent[0]).toMatchObject({ nonce: 1 })
    // Only the round trip to the endpoint is added.
    expect(lane.clock.now() - begun).toBeLessThan(SIGN_MS + 10)
    lane.account.signTransaction = signTransaction
    await lane.settle(sent.then((tx) => tx.wait()))
  })
})
