import { expect, test } from 'vitest'
import { openLane, type SimLane, transfer } from './simLane.fixture.js'

// Long work is done in parts, between which the timers and sockets of the caller's process have their turns. No time
// passes in this lane but for what is measured: each step of it takes a millisecond.

const COUNT = 600

/** How many steps come between two timers at most. */
function createSteps() {
  let [worked, steps, most, fired] = [0, 0, 0, 0]
  return {
    workedMs: () => worked,
    take({ clock }: SimLane) {
      if (clock.firedTimers !== fired) steps = 0
      fired = clock.firedTimers
      worked++
      most = Math.max(most, ++steps)
    },
    all: () => ({ worked, most }),
  }
}

async function burst(lane: SimLane): Promise<void> {
  const all = Array.from({ length: COUNT }, (_, index) =>
    lane.sender.send(transfer(index + 1), { until: 'queued' }),
  )
  for (const tx of await lane.settle(Promise.all(all))) await lane.settle(tx.wait('sealed'))
}

test('the answers to a large request are told in parts, between which timers fire', async () => {
  const steps = createSteps()
  const chain = { rules: 'geth', blockTimeMs: 12_000 } as const
  await using lane = await openLane({ chain, workedMs: steps.workedMs })
  lane.sender.on('accepted', () => steps.take(lane))
  await burst(lane)
  expect(steps.all().worked).toBe(COUNT)
  expect(steps.all().most).toBeLessThanOrEqual(4)
})
