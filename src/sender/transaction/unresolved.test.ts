import { expect, test } from 'vitest'
import type { Tx } from '../../types.js'
import { openProcesses } from '../processes.fixture.js'
import { nameOf, openLane, refuses, swallows, TIMES_OUT, transfer } from '../simLane.fixture.js'
import { unresolved } from './unresolved.fixture.js'

test('row 26: a process that begins while another one holds the lane is told what needs a word', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const first = world.start()
  await lane.settle(first.sender.ready())
  const tx = await unresolved(lane, undefined, first)
  const second = world.start()
  await lane.settle(second.sender.ready())
  await lane.until(() => second.events('unresolved').length > 0)
  await lane.blocks(3)
  expect(second.events('unresolved').map((told) => (told.tx as Tx).id)).toEqual([tx.id])
  lane.script = undefined
  await lane.settle(second.sender.resolve(tx.id, 'notExecuted'))
  expect(await lane.settle(tx.wait())).toMatchObject({ status: 'success' })
})

test('row 26: it is found out however many states are pruned while it is looked for', async () => {
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
    // The search goes down many bodies, so that the head moves on meanwhile.
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
