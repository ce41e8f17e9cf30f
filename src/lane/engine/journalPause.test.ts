import { expect, test } from 'vitest'
import { openLane, transfer } from '../../api/sender/simLane.fixture.js'
import { TxlaneError } from '../../errors/base.js'
import { memoryStore } from '../../store/memory.js'

test('P9, row 5: writes less and less often to a store that only reads, and normally after it recovers', async () => {
  const inner = memoryStore()
  let full = false
  let writes = 0
  await using lane = await openLane({
    store: {
      ...inner,
      write(lease, change) {
        writes++
        if (!full) return inner.write(lease, change)
        throw new TxlaneError('The disk is full.', { code: 'STORE', fate: 'inFlight' })
      },
    },
  })
  full = true
  const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
  await lane.until(() => lane.events('held').length > 0)
  const [before, minute] = [writes, 60_000]
  await lane.clock.advance(minute)
  // After seven of them each waits three seconds.
  expect(writes - before).toBeGreaterThan(10)
  expect(writes - before).toBeLessThan(30)
  expect(lane.sent).toEqual([])
  full = false
  await lane.settle(tx.wait('sealed'))
  expect(lane.executed()).toEqual([1])
})
