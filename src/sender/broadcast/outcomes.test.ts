import { expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { attempt, liveSlot } from '../../ledger/samples.fixture.js'
import type { SendOutcome } from '../../rpc/outcome.js'
import type { LaneContext } from '../context.js'
import { createOutcomes, type OutcomesParts } from './outcomes.js'

test('bytes that are offered again at their pace are, however often an endpoint refuses them meanwhile', async () => {
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
  const outcomes = createOutcomes(
    { lane, clock, fees: { taken() {} } } as unknown as LaneContext,
    { broadcaster: () => broadcaster, transactionOf: () => undefined } as unknown as OutcomesParts,
  )
  const refused: SendOutcome = { outcome: 'refused', reason: 'gasLimit', counted: false }
  for (let times = 0; times < 10; times++) {
    outcomes.take(slot.nonce, own.hash, refused, { words: undefined, againMs: 3_000 })
    await clock.advance(2_000)
  }
  expect(againMs).toEqual([3_000, 7_000, 11_000, 15_000, 19_000])
})
