import { describe, expect, test } from 'vitest'
import { openProcesses, type Process } from '../api/sender/processes.fixture.js'
import { refuses, transfer } from '../api/sender/simLane.fixture.js'
import type { TxRequest } from '../types/index.js'

// The guest has seen all that changed; the holder has not given its idle lane back.
const ALL_READ_MS = 5_000
const SOON_MS = 10_000

/** Holds back the next answer of the store to `verb`, so that it is outdated when it comes. */
function heldBack(process: Process, verb: 'find' | 'enqueue' | 'arrivals') {
  const { store } = process
  const ask = store[verb] as (...given: unknown[]) => Promise<unknown>
  let answer = () => {}
  const released = new Promise<void>((resolve) => {
    answer = resolve
  })
  let asked = false
  Object.assign(store, {
    async [verb](...given: unknown[]) {
      const reply = await ask(...given)
      if (asked) return reply
      asked = true
      await released
      return reply
    },
  })
  return { answer, asked: () => asked }
}

describe('P8: a transaction that a caller reads from the store keeps its events, for any change during the read', () => {
  test('for a standby that read it before it was final', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    const sent = await lane.settle(leader.sender.send(transfer(1), { id: 'a' }))
    const late = heldBack(standby, 'find')
    const got = standby.sender.get('a')
    await lane.settle(sent.wait('finalized'), 4_000_000)
    await lane.clock.advance(ALL_READ_MS)
    expect(late.asked()).toBe(true)
    late.answer()
    const tx = await lane.settle(got)
    expect(await lane.settle(tx!.wait('finalized'), SOON_MS)).toMatchObject({ hash: sent.hash })
  })

  test('for a standby whose send of the same id was answered late', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    const sent = await lane.settle(leader.sender.send(transfer(1), { id: 'a' }))
    const late = heldBack(standby, 'enqueue')
    const again = standby.sender.send(transfer(1), { id: 'a' })
    await lane.settle(sent.wait('finalized'), 4_000_000)
    await lane.clock.advance(ALL_READ_MS)
    expect(late.asked()).toBe(true)
    late.answer()
    const tx = await lane.settle(again)
    expect(await lane.settle(tx.wait('finalized'), SOON_MS)).toMatchObject({ hash: sent.hash })
  })

  test('for the leader that read it as queued before it arrived and failed at once', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    lane.script = ({ method }) =>
      method === 'eth_estimateGas' ? refuses('execution reverted', 3) : undefined
    const arrival = heldBack(leader, 'arrivals')
    const { gas: _, ...request } = transfer(1)
    const sent = await lane.settle(standby.sender.send(request as TxRequest, { id: 'a', until: 'queued' }))
    await lane.until(arrival.asked)
    const late = heldBack(leader, 'find')
    const got = leader.sender.get('a')
    await lane.until(late.asked)
    arrival.answer()
    const failed = await lane.rejection(sent.wait())
    expect(failed).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
    late.answer()
    const tx = await lane.settle(got)
    expect(await lane.rejection(tx!.wait())).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
  })
})
