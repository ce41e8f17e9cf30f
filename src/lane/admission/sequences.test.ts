import { describe, expect, test } from 'vitest'
import { type Program, programRequest } from '../../../test/sim/program.js'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import {
  nameOf,
  openLane,
  refuses,
  type SimLane,
  swallow,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import { memoryStore } from '../../store/memory.js'
import type { TxRequest } from '../../types/index.js'
import type { LaneKey, Store, StoredTransaction } from '../../types/store.js'

const request = (program: Program) => programRequest(program) as TxRequest
const call = (marker: number) => ({ ...request({ kind: 'call', marker }), gas: 100_000n }) as TxRequest
const needing = (marker: number, needs: number) => request({ kind: 'dependent', marker, needs })
const asked = (lane: SimLane, method: string) => lane.requests.flat().filter((one) => one.method === method)
const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe('a sequence', () => {
  test('takes nonces in its order without waiting, while other transactions are sent', async () => {
    await using lane = await openLane({ limits: { window: 4 } })
    const others = [50, 51, 52].map((marker) => lane.sender.send(transfer(marker)))
    const sequence = lane.sender.sendSequence(range(20).map(transfer))
    const more = lane.sender.send(transfer(53), { priority: 1 })
    const txs = await lane.settle(sequence)
    await lane.settle(Promise.all([...others, more]))
    const nonces = txs.map(({ nonce }) => nonce ?? -1)
    expect(nonces).toEqual([...nonces].sort((a, b) => a - b))
    await lane.settle(lane.sender.drain())
    expect(lane.executed().filter((name) => Number(name) < 50)).toEqual(range(20))
  })

  test('is sent completely before its first transaction is sealed', async () => {
    await using lane = await openLane()
    const before = lane.chain.head.number
    const txs = await lane.settle(lane.sender.sendSequence(range(5).map(transfer)))
    expect(lane.chain.head.number).toBe(before)
    expect(txs.map(({ stage }) => stage)).toEqual(range(5).map(() => 'accepted'))
  })

  test('a transaction that needs an estimate delays its successors', async () => {
    await using lane = await openLane()
    const txs = await lane.settle(
      lane.sender.sendSequence([request({ kind: 'call', marker: 1 }), transfer(2), transfer(3)]),
    )
    expect(txs.map(({ nonce }) => nonce)).toEqual([0, 1, 2])
  })

  test('a transaction that ends without a nonce ends all its successors and no predecessor', async () => {
    await using lane = await openLane()
    const txs = await lane.settle(
      lane.sender.sendSequence([
        transfer(1),
        request({ kind: 'revert', marker: 2 }),
        transfer(3),
        transfer(4),
      ]),
    )
    const second = lane.rejection(txs[1]?.wait() ?? Promise.reject())
    expect(await second).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
    for (const tx of txs.slice(2))
      expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1])
  })

  test('a queued transaction that is cancelled ends its successors', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const txs = await lane.settle(lane.sender.sendSequence(range(3).map(transfer), { until: 'queued' }))
    await lane.settle(txs[1]?.cancel() ?? Promise.reject())
    expect(await lane.rejection(txs[2]?.wait() ?? Promise.reject())).toMatchObject({ code: 'DEPENDENCY' })
    lane.sender.resume()
    await lane.settle(txs[0]?.wait() ?? Promise.reject())
    await lane.blocks(2)
    expect(lane.executed()).toEqual([1])
  })

  test('a second send with the same id gets the same transactions', async () => {
    await using lane = await openLane()
    const [one, two] = await lane.settle(lane.sender.sendSequence([transfer(1), transfer(2)], { id: 's' }))
    expect([one?.id, two?.id]).toEqual(['s/0', 's/1'])
    const again = await lane.settle(
      lane.sender.sendSequence([transfer(1), transfer(2), transfer(3)], { id: 's' }),
    )
    expect(again.slice(0, 2)).toEqual([one, two])
    const other = await lane.rejection(
      lane.sender.sendSequence([transfer(1), transfer(9), transfer(10)], { id: 's' }),
    )
    expect(other).toMatchObject({ code: 'ID_CONFLICT', fate: 'inFlight' })
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('no transaction takes a freed nonce below its predecessor', async () => {
    await using lane = await openLane({ limits: { window: 1, windowMax: 1 }, signMs: () => 300 })
    const other = await lane.settle(lane.sender.send(transfer(9), { until: 'queued' }))
    const sending = lane.sender.sendSequence(range(2).map(transfer), { until: 'queued' })
    const [first, second] = await lane.settle(sending)
    await lane.until(() => first?.nonce === 1)
    expect(second?.nonce).toBeUndefined()
    expect(await lane.settle(other.cancel())).toEqual({ result: 'removed' })
    await lane.settle(second!.wait())
    expect(lane.executed()).toEqual(['noop', 1, 2])
  })

  test('no transaction is journaled before its predecessor, however long that takes to sign', async () => {
    const signMs = [2_000, 0, 1_000]
    await using lane = await openLane({ signMs: () => signMs.shift() ?? 0 })
    const [first, , third] = await lane.settle(
      lane.sender.sendSequence(range(3).map(transfer), { until: 'queued' }),
    )
    await lane.until(() => third?.nonce === 2)
    await lane.clock.advance(1_900)
    expect(lane.sent).toEqual([])
    await lane.settle(third!.wait())
    expect(lane.sent.slice(0, 3).map(nameOf)).toEqual([1, 2, 3])
    expect(first?.nonce).toBe(0)
  })

  test('P8: an abandoned signature that ends after the one for the next nonce delays nothing', async () => {
    const signMs = [20_000, 9_000, 12_000, 0]
    await using lane = await openLane({ lossDepth: 'child', signMs: () => signMs.shift() ?? 0 })
    const sending = lane.sender.sendSequence(range(2).map(transfer), { until: 'queued' })
    const [, second] = await lane.settle(sending)
    await lane.until(() => second?.nonce === 1)
    lane.foreign()
    await lane.settle(lane.sender.drain())
    expect(signMs).toEqual([])
    expect(lane.executed()).toEqual(['foreign', 1, 2])
  })

  test('a failed signature ends all successors that are not journaled', async () => {
    let signatures = 0
    await using lane = await openLane({ signMs: () => 100, fails: () => ++signatures === 2 })
    const txs = await lane.settle(lane.sender.sendSequence(range(4).map(transfer)))
    expect(txs.map(({ stage }) => stage)).toEqual(['accepted', 'failed', 'failed', 'failed'])
    expect(await lane.rejection(txs[3]!.wait())).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1])
  })

  test('is admitted as a whole or not at all', async () => {
    await using lane = await openLane({ limits: { queueMax: 3 } })
    const full = await lane.rejection(lane.sender.sendSequence(range(4).map(transfer)))
    expect(full).toMatchObject({ code: 'QUEUE_FULL', fate: 'notExecuted' })
    const bad = await lane.rejection(
      lane.sender.sendSequence([transfer(1), { ...transfer(2), value: 1 } as never]),
    )
    expect(bad).toMatchObject({ code: 'INVALID' })
    expect(await lane.rejection(lane.sender.sendSequence('x' as never))).toMatchObject({ code: 'INVALID' })
    expect(lane.executed()).toEqual([])
  })

  test('a thousand successors of a failed transaction all end', async () => {
    await using lane = await openLane()
    const requests = [request({ kind: 'revert', marker: 1_001 }), ...range(1_000).map(transfer)]
    const txs = await lane.settle(lane.sender.sendSequence(requests))
    expect(new Set(txs.map(({ stage }) => stage))).toEqual(new Set(['failed']))
  })
})

describe('gas of a sequence', () => {
  const requests = [
    request({ kind: 'call', marker: 1 }),
    needing(2, 1),
    request({ kind: 'call', marker: 3 }),
    needing(4, 3),
  ]

  test('comes from two simulations of the whole sequence: one estimates, one checks', async () => {
    await using lane = await openLane()
    const before = lane.chain.head.number
    const txs = await lane.settle(lane.sender.sendSequence(requests))
    expect(lane.chain.head.number).toBe(before)
    expect(asked(lane, 'eth_simulateV1')).toHaveLength(2)
    const landed = await lane.settle(Promise.all(txs.map((tx) => tx.wait())))
    expect(landed.map(({ status }) => status)).toEqual(requests.map(() => 'success'))
  })

  test('is raised until a transaction that needs more gas than it uses succeeds', async () => {
    await using lane = await openLane()
    const needed = 150_000
    lane.script = ({ method, params }) => {
      if (method !== 'eth_simulateV1') return undefined
      const [{ blockStateCalls }] = params as [{ blockStateCalls: [{ calls: { gas?: string }[] }] }]
      const calls = blockStateCalls[0].calls.map(({ gas }) => ({
        status: gas === undefined || Number(gas) >= needed ? '0x1' : '0x0',
        gasUsed: '0xc350',
      }))
      return { ok: true, result: [{ calls }] }
    }
    const txs = await lane.settle(lane.sender.sendSequence([call(1), needing(2, 1)]))
    const [, second] = lane.sent
    expect(second?.gas).toBeGreaterThanOrEqual(needed)
    await lane.settle(Promise.all(txs.map((tx) => tx.wait())))
  })

  test('waits for the predecessors if the endpoint has no simulation, which is requested only once', async () => {
    await using lane = await openLane()
    lane.script = ({ method }) =>
      method === 'eth_simulateV1' ? refuses('the method eth_simulateV1 does not exist', -32601) : undefined
    const txs = await lane.settle(lane.sender.sendSequence([call(1), needing(2, 1), needing(3, 2)]))
    const landed = await lane.settle(Promise.all(txs.map((tx) => tx.wait())))
    expect(landed.map(({ status }) => status)).toEqual(['success', 'success', 'success'])
    expect(asked(lane, 'eth_simulateV1')).toHaveLength(1)
    expect(lane.executed()).toEqual([1, 2, 3])
  })
})

describe('dependent work outlives the process', () => {
  test('P7: waiting transactions continue with the next leader, after their predecessor and in order', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    lane.script = swallow(1)
    const before = await lane.settle(first.sender.send(call(1), { id: 'a' }))
    const after = await lane.settle(
      first.sender.send({ ...needing(2, 1), gas: 100_000n } as TxRequest, {
        id: 'b',
        after: [before],
        until: 'queued',
      }),
    )
    await lane.settle(
      first.sender.sendSequence([transfer(3), transfer(4), transfer(5)], {
        id: 's',
        after: [after],
        until: 'queued',
      }),
    )
    first.freeze()
    const sentBefore = lane.sent.length
    // The next leader resends the transaction in flight, and none of the waiting ones.
    await lane.until(() => lane.sent.length > sentBefore, 120_000)
    await lane.blocks(2)
    expect(new Set(lane.sent.map(nameOf))).toEqual(new Set([1]))
    lane.script = undefined
    const last = await lane.settle(second.sender.get('s/2'))
    await lane.settle(last?.wait() ?? Promise.reject(), 400_000)
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
    first.thaw()
  })

  test('the leader keeps the order of a sequence that a standby sends after its own transaction', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [, standby] = await world.pair()
    const before = await lane.settle(standby.sender.send(call(1)))
    const sequence = lane.settle(
      standby.sender.sendSequence([{ ...needing(2, 1), gas: 100_000n } as TxRequest, transfer(3)], {
        after: [before],
      }),
    )
    const txs = await sequence
    await lane.settle(Promise.all(txs.map((tx) => tx.wait())))
    expect(lane.executed()).toEqual([1, 2, 3])
    expect(lane.sent.map(nameOf)).toEqual([1, 2, 3])
  })

  test('P8: a successor ends with its predecessor, even while the predecessor is sent again by its id', async () => {
    const inner = memoryStore()
    let key: LaneKey | undefined
    let slow = async () => {}
    const store: Store = {
      ...inner,
      async enqueue(added) {
        key = added[0]?.lane
        await slow()
        return inner.enqueue(added)
      },
    }
    await using lane = await openLane({ store })
    lane.sender.pause()
    const options = { id: 's/0', until: 'queued' } as const
    const before = await lane.settle(lane.sender.send(transfer(1), options))
    await lane.settle(before.cancel())
    const ended = (await inner.find(key as LaneKey, options)) as StoredTransaction
    slow = () => new Promise((resolve) => void lane.clock.setTimer(resolve, 50))
    const again = lane.sender.send(transfer(1), options)
    await lane.clock.advance(10)
    const follower = { ...ended, id: 's/1', stage: 'queued', failure: undefined } as const
    await inner.enqueue([{ ...follower, needs: { follows: 's/0' } }])
    await lane.clock.advance(10)
    expect(await lane.rejection(again)).toMatchObject({ code: 'ENDED', tx: { stage: 'cancelled' } })
    const tx = await lane.settle(lane.sender.get('s/1'))
    const wait = tx?.wait() ?? Promise.resolve()
    expect(await lane.rejection(wait, 5_000)).toMatchObject({ code: 'DEPENDENCY', fate: 'notExecuted' })
  })
})
