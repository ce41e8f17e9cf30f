import { expect, test } from 'vitest'
import { runCounter } from '../sweep/counter/run.js'
import { openServer } from '../sweep/place.js'

const RUN_MS = 300_000

test(
  'two processes that assign the nonces of one contract, each killed repeatedly: the other one takes over, and nothing is lost or doubled',
  async () => {
    await using place = await openServer('counter', undefined)
    const result = await runCounter({ members: 2, kills: 3, asks: 12, seed: 11 }, place)
    expect(result).toMatchObject({ kills: 6, assignedTwice: [], lost: [], executedTwice: [] })
    expect(result.committed).toBeGreaterThan(24)
    expect(result.executed).toBe(result.used)
  },
  RUN_MS,
)
