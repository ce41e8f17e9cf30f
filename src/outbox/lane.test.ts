import { describe, expect, test } from 'vitest'
import { createRandom } from '../../test/sim/random.js'
import { openProcesses, type Process } from '../api/sender/processes.fixture.js'
import { transfer } from '../api/sender/simLane.fixture.js'
import { createOutboxIn } from './createOutbox.js'
import type { Delivery, OutboxOptions } from './types.js'

const random = createRandom(5)

/** The outbox of a process, which reads receipts through the sender of that process. */
function outboxOf({ environment, store, sender }: Process, options: Partial<OutboxOptions> = {}) {
  const { clock } = environment
  const deliveries: Delivery[] = []
  const { onStage = () => {}, ...rest } = options
  const outbox = createOutboxIn(
    { clock, background: clock, random, warn: () => {} },
    {
      store,
      name: 'orders',
      receipts: sender,
      onStage(delivery, context) {
        deliveries.push(delivery)
        return onStage(delivery, context)
      },
      ...rest,
    },
  )
  return { outbox, deliveries, received: () => deliveries.map(({ tx, stage }) => `${tx.id}:${stage}`) }
}

const ids = Array.from({ length: 12 }, (_, index) => `order ${index}`)
const all = (stage: string) => ids.map((id) => `${id}:${stage}`).toSorted()
const queueAll = ({ sender }: Process) =>
  Promise.all(ids.map((id, marker) => sender.send(transfer(marker), { id, until: 'queued' })))

describe('transactions without a waiting caller', () => {
  test('are delivered as sealed, with their status, and as final', async () => {
    await using processes = await openProcesses()
    const { lane } = processes
    const [first] = await processes.pair()
    const { outbox, received, deliveries } = outboxOf(first)
    await lane.settle(outbox.ready())
    await lane.settle(queueAll(first))
    await lane.until(() => received().length >= ids.length)
    expect(received().toSorted()).toEqual(all('sealed'))
    for (const { tx } of deliveries) {
      expect(tx).toMatchObject({ status: 'success', costs: { gasUsed: '21000' } })
    }
    await lane.until(() => received().length >= 2 * ids.length, 1_200_000)
    expect(received().slice(ids.length).toSorted()).toEqual(all('finalized'))
    await lane.settle(outbox.close())
  })

  test('are delivered by the other process if the sending one is killed between the stage and the call', async () => {
    await using processes = await openProcesses()
    const { lane } = processes
    const [first, second] = await processes.pair()
    let killed = false
    const former = outboxOf(first, {
      onStage() {
        // In the middle of its calls. None of its later requests has an effect.
        killed = true
        first.freeze()
        return new Promise(() => {})
      },
    })
    await lane.settle(former.outbox.ready())
    const next = outboxOf(second, { stages: ['sealed'] })
    await lane.settle(queueAll(first))
    await lane.until(() => killed)
    expect(former.deliveries.length).toBeLessThan(ids.length)
    await lane.until(() => next.received().length >= ids.length)
    expect(next.received().toSorted()).toEqual(all('sealed'))
    await lane.clock.advance(30_000)
    expect(next.received()).toHaveLength(ids.length)
    const keys = new Map(next.deliveries.map(({ tx, key }) => [tx.id, key]))
    for (const { tx, key } of former.deliveries) expect(keys.get(tx.id)).toBe(key)
    first.thaw()
    await lane.settle(Promise.all([former.outbox.close(), next.outbox.close()]))
  })

  test('are delivered as cancelled, superseded or failed, with the reason', async () => {
    await using processes = await openProcesses()
    const { lane } = processes
    const [first] = await processes.pair()
    const { outbox, received, deliveries } = outboxOf(first, {
      stages: ['failed', 'cancelled', 'superseded'],
    })
    await lane.settle(outbox.ready())
    first.sender.pause()
    const [late, gone] = await lane.settle(
      Promise.all([
        first.sender.send(transfer(1), {
          id: 'late',
          until: 'queued',
          expires: { atMs: lane.clock.wallNow() + 2_000 },
        }),
        first.sender.send(transfer(2), { id: 'gone', until: 'queued' }),
      ]),
    )
    await lane.settle(Promise.all([gone.cancel(), late.wait('sealed').catch(() => {})]))
    await lane.until(() => received().length === 2)
    expect(received().toSorted()).toEqual(['gone:cancelled', 'late:failed'])
    expect(deliveries.find(({ tx }) => tx.id === 'late')?.tx.error).toMatchObject({
      code: 'EXPIRED',
      fate: 'notExecuted',
    })
    first.sender.resume()
    await lane.settle(outbox.close())
  })

  test('are withdrawn by a reorg, and delivered again for their new block', async () => {
    await using processes = await openProcesses({ lossDepth: 12 })
    const { lane } = processes
    const [first] = await processes.pair()
    const { outbox, received, deliveries } = outboxOf(first, { stages: ['sealed'] })
    await lane.settle(outbox.ready())
    await lane.settle(first.sender.send(transfer(1), { id: 'a', until: 'queued' }))
    await lane.until(() => received().length === 1)
    await lane.blocks(2)
    lane.chain.reorg({ depth: 4, drops: () => true })
    await lane.until(() => received().length >= 3)
    expect(received()).toEqual(['a:sealed', 'a:reorged', 'a:sealed'])
    const [before, , after] = deliveries.map(({ tx }) => tx.block?.hash)
    expect(after).not.toBe(before)
    await lane.settle(outbox.close())
  })
})
