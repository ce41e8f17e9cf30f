import { expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { attempt, liveSlot } from '../../ledger/samples.fixture.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { LaneContext } from '../engine/core.js'
import { createSendResults, type SendResultsParts } from './sendResults.js'

/**
 * A slot whose bytes are refused, and the times at which they are offered again. `isBehind`: the walk has not
 * reached the newest block. `latestCount`: the account's count that the endpoint reports.
 */
function createRefused(isBehind: () => boolean, latestCount = () => 0) {
  const clock = createVirtualClock()
  const own = attempt('t', 'h')
  const slot = liveSlot({ attempts: [own] })
  const againMs: number[] = []
  const startMs = clock.now()
  const lane = {
    book: { get: () => slot },
    // The table asks for the same bytes again (row 18).
    apply: (nonce: number) => outcomes.later(nonce),
    holds: { has: () => false },
    lease: { epoch: 1 },
  }
  const broadcaster = { again: () => void againMs.push(clock.now() - startMs), elsewhere() {} }
  const tracker = {
    get isBehind() {
      return isBehind()
    },
  }
  const outcomes = createSendResults(
    { lane, clock, endpointPool: { tracker }, fees: { taken() {} } } as unknown as LaneContext,
    {
      broadcaster: () => broadcaster,
      transactionOf: () => undefined,
      latestCount,
    } as unknown as SendResultsParts,
  )
  const refuse = (reason: SendOutcome['reason']) =>
    outcomes.take(
      slot.nonce,
      own.hash,
      { outcome: 'refused', reason, counted: false },
      { words: undefined, againMs: 3_000 },
    )
  return { clock, againMs, refuse }
}

test('offers bytes again at their own pace, however often an endpoint refuses them meanwhile', async () => {
  const { clock, againMs, refuse } = createRefused(() => false)
  for (let times = 0; times < 10; times++) {
    refuse('gasLimit')
    await clock.advance(2_000)
  }
  expect(againMs).toEqual([3_000, 7_000, 11_000, 15_000, 19_000])
})

test('offers bytes again within a second after the missing blocks are walked, or after half a minute', async () => {
  let isBehind = true
  const { clock, againMs, refuse } = createRefused(() => isBehind)
  refuse('nonceTooLow')
  await clock.advance(10_000)
  expect(againMs).toEqual([])
  isBehind = false
  await clock.advance(2_000)
  expect(againMs).toEqual([11_000])
  isBehind = true
  refuse('nonceTooLow')
  await clock.advance(60_000)
  expect(againMs).toEqual([11_000, 12_000 + 3_000 + 30 * 1_000])
})

test('holds bytes back while an unexplained count covers the nonce, until it is refuted or for half a minute', async () => {
  let count = 8
  const { clock, againMs, refuse } = createRefused(
    () => false,
    () => count,
  )
  refuse('nonceTooLow')
  await clock.advance(10_000)
  expect(againMs).toEqual([])
  count = 7
  await clock.advance(2_000)
  expect(againMs).toEqual([11_000])
  count = 8
  refuse('nonceTooLow')
  await clock.advance(60_000)
  expect(againMs).toEqual([11_000, 12_000 + 3_000 + 30 * 1_000])
})
