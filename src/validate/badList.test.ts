import { expect, test } from 'vitest'
import { openLane } from '../api/sender/simLane.fixture.js'
import type { ListOptions } from '../types/index.js'

/** Values that the types forbid and JavaScript accepts, and texts that are no dates or cursors. */
const BAD: Readonly<Record<keyof ListOptions, readonly unknown[]>> = {
  stage: ['nope', 5, null, ''],
  group: ['', ' ', 5, null, 'a\nb', 'a\u202eb', '\ud800', 'x'.repeat(129)],
  account: [5, null, '0x12', '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96046'],
  createdAfter: [
    'yesterday',
    '01/02/2025',
    '2025-01-01T00:00',
    '2025-13-01',
    Number.NaN,
    5,
    null,
    new Date('x'),
    {},
  ],
  createdBefore: ['tomorrow', '2025-1-1', '2025-01-01T25:00:00Z', new Date(Number.NaN), 7, []],
  limit: [0, -1, 1.5, Number.NaN, '5', 10_001, null],
  cursor: ['', 'x', 5, null, '7', '7:', '7:8', '0/7:8:a', 'x:8:a', `${'9'.repeat(30)}:1:a`],
}

test.each(Object.entries(BAD))(
  'list: %s that cannot be is INVALID, and nothing is asked',
  async (argument, values) => {
    await using lane = await openLane()
    const before = lane.requests.length
    for (const value of values) {
      const error = await lane.rejection(lane.sender.list({ [argument]: value }))
      expect(error).toMatchObject({ name: 'TxlaneError', code: 'INVALID', fate: 'notExecuted' })
      expect(error.message).toContain(`Invalid ${argument}:`)
    }
    expect(lane.requests.length).toBe(before)
  },
)
