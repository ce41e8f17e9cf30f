import { describe, expect, test } from 'vitest'
import { programRequest } from '../../../test/sim/program.js'
import { ONE_ETHER, openPools, transfer as priced } from '../../api/pool/poolRelief.fixture.js'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import { openLane, refuses, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import { memoryStore } from '../../store/memory.js'
import type { SendOptions, Tx, TxRequest } from '../../types/index.js'

const ID = 'rent of may'

const send = (lane: SimLane, marker = 1, options: SendOptions = {}) =>
  lane.sender.send(transfer(marker), { id: ID, ...options })

/** After this the id stands for a transaction that was cancelled before it had a nonce. */
async function cancelled(lane: SimLane): Promise<Tx> {
  lane.sender.pause()
  const tx = await lane.settle(send(lane, 1, { until: 'queued' }))
  await lane.settle(tx.cancel())
  lane.sender.resume()
  expect(tx.stage).toBe('cancelled')
  return tx
}

describe('an id whose transaction ended without execution', () => {
  test.each(['queued', 'accepted'] as const)('rejects a send with ENDED, until %s', async (until) => {
    await using lane = await openLane()
    await cancelled(lane)
    const error = await lane.rejection(send(lane, 1, { until }))
    expect(error).toMatchObject({
      code: 'ENDED',
      fate: 'notExecuted',
      tx: { id: ID, stage: 'cancelled' },
      cause: { code: 'CANCELLED', fate: 'notExecuted' },
    })
    expect(error.shortMessage).toContain('again: true')
    await lane.blocks(3)
    expect(lane.executed()).toEqual([])
  })

  test('restarts under the same id if the caller passes again: true', async () => {
    await using lane = await openLane()
    const former = await cancelled(lane)
    const tx = await lane.settle(send(lane, 1, { again: true }))
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
    expect(tx).not.toBe(former)
    expect(former.stage).toBe('cancelled')
    expect((await lane.settle(lane.sender.get(ID)))?.stage).toBe('sealed')
    // A transaction that executed is never restarted.
    for (const again of [true, false])
      expect((await lane.settle(send(lane, 1, { again }))).hash).toBe(tx.hash)
    expect(lane.sent).toHaveLength(1)
  })

  test('restarts with the options of the new call, after a revert in the estimate', async () => {
    await using lane = await openLane()
    lane.script = ({ method }) =>
      method === 'eth_estimateGas' ? refuses('execution reverted', 3) : undefined
    const request = programRequest({ kind: 'call', marker: 5 }) as TxRequest
    const failing = lane.sender.send(request, { id: ID, group: 'may' })
    expect(await lane.rejection(failing)).toMatchObject({ code: 'PREPARE_REVERTED' })
    lane.script = undefined
    const tx = await lane.settle(lane.sender.send(request, { id: ID, again: true, group: 'june' }))
    await lane.settle(tx.wait('sealed'))
    expect(tx.toJSON()).toMatchObject({ id: ID, stage: 'sealed', group: 'june' })
    expect(tx.toJSON().error).toBeUndefined()
  })

  test('restarts after a no-op took its nonce, and does not own that nonce any more', async () => {
    await using lane = await openLane()
    lane.script = ({ method }, tx) =>
      method === 'eth_sendRawTransaction' && tx?.valueWei !== 0n ? refuses('already known') : undefined
    const tx = await lane.settle(send(lane))
    const cancel = tx.cancel()
    lane.script = undefined
    expect((await lane.settle(cancel)).result).toBe('cancelled')
    const anew = await lane.settle(send(lane, 1, { again: true }))
    await lane.settle(anew.wait('sealed'))
    expect(anew.nonce).toBe(1)
    expect(lane.executed()).toEqual(['noop', 1])
    await lane.settle(anew.wait('finalized'))
    expect(anew.stage).toBe('finalized')
  })

  test('rejects another request under the same id with ID_CONFLICT, and sends nothing', async () => {
    await using lane = await openLane()
    await cancelled(lane)
    for (const again of [true, false])
      expect(await lane.rejection(send(lane, 2, { again }))).toMatchObject({ code: 'ID_CONFLICT' })
    await lane.blocks(2)
    expect(lane.executed()).toEqual([])
  })

  test('does not restart a transaction that was superseded by its replacement', async () => {
    await using lane = await openLane()
    lane.sender.pause()
    const tx = await lane.settle(send(lane, 1, { until: 'queued' }))
    const heir = await lane.settle(tx.replace(transfer(2), { until: 'queued' }))
    lane.sender.resume()
    await lane.settle(heir.wait('sealed'))
    const error = await lane.rejection(send(lane, 1, { again: true }))
    expect(error).toMatchObject({ code: 'ENDED', fate: 'notExecuted', tx: { stage: 'superseded' } })
    expect(lane.executed()).toEqual([2])
  })

  test('restarts once for many simultaneous calls, and all of them get the same transaction', async () => {
    await using lane = await openLane()
    await cancelled(lane)
    const calls = Array.from({ length: 10 }, () => send(lane, 1, { again: true, until: 'queued' }))
    const all = await lane.settle(Promise.all(calls))
    await lane.settle(Promise.all(all.map((tx) => tx.wait('sealed'))))
    expect(new Set(all).size).toBe(1)
    expect(lane.executed()).toEqual([1])
  })

  test('restarts as often as it ends', async () => {
    await using lane = await openLane()
    await cancelled(lane)
    for (let life = 0; life < 3; life++) {
      lane.sender.pause()
      const tx = await lane.settle(send(lane, 1, { again: true, until: 'queued' }))
      await lane.settle(tx.cancel())
      lane.sender.resume()
      expect(await lane.rejection(send(lane))).toMatchObject({ code: 'ENDED' })
    }
    const tx = await lane.settle(send(lane, 1, { again: true }))
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
  })

  test('reports ENDED in sendMany, and a second run with again: true sends the failed items', async () => {
    await using lane = await openLane()
    await cancelled(lane)
    const run = async (again: boolean) => {
      const results: string[] = []
      const items = [1, 2].map((marker) => ({
        request: transfer(marker),
        id: marker === 1 ? ID : 'other',
        again,
      }))
      for await (const result of lane.sender.sendMany(items, { until: 'sealed' }))
        results.push(`${result.id} ${result.ok ? 'ok' : result.error.code}`)
      return results.sort()
    }
    expect(await lane.settle(run(false))).toEqual(['other ok', `${ID} ENDED`])
    expect(await lane.settle(run(true))).toEqual(['other ok', `${ID} ok`])
    expect([...lane.executed()].sort()).toEqual([1, 2])
  })
})

describe('several processes and accounts', () => {
  test('a standby restarts the id, and the leader sends it once', async () => {
    await using processes = await openProcesses()
    const { lane } = processes
    const [leader, standby] = await processes.pair()
    leader.sender.pause()
    const tx = await lane.settle(leader.sender.send(transfer(1), { id: ID, until: 'queued' }))
    await lane.settle(tx.cancel())
    leader.sender.resume()
    const asked = [standby, standby, leader].map(({ sender }) =>
      sender.send(transfer(1), { id: ID, again: true, until: 'queued' }),
    )
    const anew = await lane.settle(Promise.all(asked))
    await lane.settle(Promise.all(anew.map((one) => one.wait('sealed'))))
    expect(lane.executed()).toEqual([1])
  })

  test('a sender pool restarts the id at another account after its own was retired', async () => {
    const store = { ...memoryStore({ now: () => 0 }), durable: true }
    await using pools = await openPools([ONE_ETHER, ONE_ETHER], { store })
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    pool.pause()
    const tx = await lane.settle(pool.send(priced(1), { id: ID, until: 'queued' }))
    const { from } = tx.toJSON()
    await lane.settle(tx.cancel())
    pool.resume()
    await lane.settle(pool.retire(from))
    expect(await lane.rejection(pool.send(priced(1), { id: ID }))).toMatchObject({ code: 'ENDED' })
    const anew = await lane.settle(pool.send(priced(1), { id: ID, again: true }))
    await lane.settle(anew.wait('sealed'))
    expect(anew.toJSON().from).not.toBe(from)
    expect(pools.executed()).toHaveLength(1)
    expect((await lane.settle(pool.send(priced(1), { id: ID, again: true }))).hash).toBe(anew.hash)
  })
})
