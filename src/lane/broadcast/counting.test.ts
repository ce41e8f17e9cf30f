import { expect, test } from 'vitest'
import { createSenderIn } from '../../api/sender/sender.js'
import { nameOf, onSend, openLane, refuses, TIMES_OUT, transfer } from '../../api/sender/simLane.fixture.js'
import { createShared } from '../../chain/environment.js'
import type { RpcCall } from '../../rpc/port.js'

const KNOWN = refuses('already known')

test('does not learn from already known transactions that a mempool count shows pre-confirmations', async () => {
  await using lane = await openLane({ chain: { rules: 'reth' } })
  await lane.settle(lane.sender.send(transfer(1)))
  lane.chain.pool.strand(() => true)
  await lane.settle(lane.sender.close())

  // The new process has no profile of the endpoint, and re-sends the transaction from the store. The pool
  // knows it and does not count it.
  const next = createSenderIn({ ...lane.environment, shared: createShared() }, lane.parameters)
  const reported: unknown[] = []
  next.on('preconfirmed', (event) => reported.push(event))
  await lane.settle(next.ready())
  await lane.until(() => lane.executed().length === 1)
  expect(lane.sent.length).toBeGreaterThan(2)
  expect(reported).toEqual([])
  await lane.settle(next.close())
})

test('does not learn that from transactions that arrived through another endpoint either', async () => {
  await using lane = await openLane({ chain: { rules: 'reth' } })
  lane.script = onSend((sent) => {
    if (lane.sent.length > 1) return undefined
    lane.chain.submit(sent.raw)
    lane.chain.pool.strand(() => true)
    return KNOWN
  })
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  await lane.settle(tx.wait('sealed'))
  expect(lane.events('preconfirmed')).toEqual([])
})

test('learns from resends that a pool with room for one transaction counts it, although the first counts were not answered', async () => {
  await using lane = await openLane({ chain: { rules: 'reth', executableMax: 1, blockTimeMs: 4_000 } })
  const answersFromMs = lane.clock.now() + 60_000
  const isPending = ({ method, params }: RpcCall) =>
    method === 'eth_getTransactionCount' && params[1] === 'pending'
  lane.script = (call) =>
    lane.clock.now() < answersFromMs && isPending(call) ? refuses('try again') : undefined
  const count = 60
  const markers = Array.from({ length: count }, (_, index) => index + 1)
  const all = await lane.settle(Promise.all(markers.map((marker) => lane.sender.send(transfer(marker)))))
  await lane.settle(Promise.all(all.map((tx) => tx.wait('sealed'))), 900_000)
  expect(lane.executed()).toEqual(markers)
  const [endpoint] = (await lane.snapshot()).endpoints
  expect(endpoint?.profile).toMatchObject({ pending: 'mempool' })
})

test('accepts a transaction whose answer was lost by the count that covers it, long before the next block', async () => {
  await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 3_600_000 } })
  await lane.settle(lane.sender.send(transfer(1)))
  lane.script = onSend((sent) => {
    if (nameOf(sent) !== 2) return undefined
    lane.chain.submit(sent.raw)
    return TIMES_OUT
  })
  const tx = await lane.settle(lane.sender.send(transfer(2)), 60_000)
  expect(tx.stage).toBe('accepted')
  expect(lane.sent.map(nameOf)).toEqual([1, 2])
})
