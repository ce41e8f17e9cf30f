import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/sim/port/answer.js'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import {
  nameOf,
  openLane,
  refuses,
  type SimLane,
  swallows,
  TIMES_OUT,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { Tx } from '../../types/index.js'
import { unresolved } from './unresolved.fixture.js'

test('row 26: a process that starts while another one owns the lane receives unresolved for an open case', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const first = world.start()
  await lane.settle(first.sender.ready())
  const tx = await unresolved(lane, undefined, first)
  const second = world.start()
  await lane.settle(second.sender.ready())
  await lane.until(() => second.events('unresolved').length > 0)
  await lane.blocks(3)
  expect(second.events('unresolved').map((reported) => (reported.tx as Tx).id)).toEqual([tx.id])
  lane.script = undefined
  await lane.settle(second.sender.resolve(tx.id, 'notExecuted'))
  expect(await lane.settle(tx.wait())).toMatchObject({ status: 'success' })
})

test('row 26: is detected however many states are pruned during the search', async () => {
  const lossDepth = 3
  await using lane = await openLane({
    lossDepth,
    chain: { rules: 'geth', blockTimeMs: 20 },
    limits: { pollIntervalMs: 10 },
  })
  let silent = true
  lane.script = (call, tx) => {
    if (tx) return nameOf(tx) === 'noop' ? undefined : swallows(tx)
    const { method, params } = call
    const head = lane.chain.head.number
    // The search reads many bodies, so that the head advances meanwhile.
    if (method.startsWith('eth_getBlockBy') && params[1] === true) {
      const byHash = lane.chain.canonical.findIndex(({ hash }) => hash === params[0])
      const number = method === 'eth_getBlockByHash' ? byHash : Number(params[0])
      return number > head - 60 ? undefined : refuses('pruned history unavailable')
    }
    if (method !== 'eth_getTransactionCount' || params[1] === 'latest' || params[1] === 'pending')
      return undefined
    if (silent) return TIMES_OUT
    return Number(params[1]) >= head - lossDepth - 2 ? undefined : refuses('missing trie node')
  }
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  lane.foreign()
  await lane.blocks(80)
  silent = false
  await lane.until(() => lane.events('unresolved').length > 0)
  expect(await lane.rejection(tx.wait())).toMatchObject({ code: 'UNRESOLVED', fate: 'inFlight' })
})

/** The endpoint counts the unused nonce 0 as used and shows no body, until the use is unresolved. */
async function miscounted(lane: SimLane): Promise<Tx> {
  lane.script = (call, sent) => {
    if (sent) return swallows(sent)
    if (call.method === 'eth_getTransactionCount') return ok('0x1')
    return call.method.startsWith('eth_getBlockBy') && call.params[1] === true ? TIMES_OUT : undefined
  }
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.until(() => lane.events('unresolved').length > 0)
  return tx
}

describe("row 27: the operator's decision on a nonce that nothing has used", () => {
  test('not executed: a no-op takes the nonce once the count is refuted, and the transaction lands above it', async () => {
    await using lane = await openLane()
    const tx = await miscounted(lane)
    await lane.settle(lane.sender.resolve(tx.id, 'notExecuted'))
    lane.script = undefined
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 1, status: 'success' })
    expect(lane.events('corrected')).toHaveLength(1)
    expect(lane.executed()).toEqual(['noop', 1])
    expect((await lane.snapshot()).holds).toEqual([])
  })

  test('executed: the same bytes are sent again once the count is refuted, so that the decision becomes true', async () => {
    await using lane = await openLane()
    const tx = await miscounted(lane)
    await lane.settle(lane.sender.resolve(tx.id, 'executed'))
    lane.script = undefined
    await lane.until(() => lane.executed().length > 0)
    const next = await lane.settle(lane.sender.send(transfer(2)))
    expect(await lane.settle(next.wait())).toMatchObject({ nonce: 1, status: 'success' })
    expect(lane.executed()).toEqual([1, 2])
    expect((await lane.snapshot()).holds).toEqual([])
  })

  test('not executed, but it lands at the nonce: it is reported as sealed, and nothing lands above it', async () => {
    await using lane = await openLane({ limits: { reorgHorizon: 4 } })
    const tx = await miscounted(lane)
    const [first] = lane.sent
    await lane.settle(lane.sender.resolve(tx.id, 'notExecuted'))
    await lane.blocks(12)
    await lane.until(() => lane.sent.some(({ nonce }) => nonce === 1))
    lane.chain.submit(first?.raw ?? '')
    lane.script = (_, sent) => (sent ? swallows(sent) : undefined)
    await lane.until(() => lane.events('corrected').length > 0)
    lane.script = undefined
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 0, hash: first?.hash, status: 'success' })
    await lane.settle(lane.sender.drain())
    await lane.blocks(3)
    expect(lane.executed()).toEqual([1, 'noop'])
  })

  test('not executed, but it lands at the nonce once the count is refuted, before the no-op', async () => {
    await using lane = await openLane()
    const tx = await miscounted(lane)
    const [first] = lane.sent
    await lane.settle(lane.sender.resolve(tx.id, 'notExecuted'))
    await lane.until(() => lane.sent.some(({ nonce }) => nonce === 1))
    lane.script = (_, sent) => (sent ? swallows(sent) : undefined)
    await lane.until(() => lane.events('corrected').length > 0)
    lane.chain.submit(first?.raw ?? '')
    await lane.until(() => lane.events('corrected').length > 1)
    lane.script = undefined
    expect(await lane.settle(tx.wait())).toMatchObject({ nonce: 0, hash: first?.hash, status: 'success' })
    await lane.settle(lane.sender.drain())
    await lane.blocks(3)
    expect(lane.executed()).toEqual([1, 'noop'])
  })
})
