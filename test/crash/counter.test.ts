import { expect, test } from 'vitest'
import { runCounter } from '../sweep/counter/run.js'
import { openFile } from '../sweep/place.js'

const SWEEP_MS = 300_000

test(
  'the nonces of a contract, in a process that is killed again and again: each commit lands once, and no nonce is assigned twice',
  async () => {
    await using place = await openFile('counter')
    const result = await runCounter({ members: 1, kills: 6, asks: 12, seed: 7 }, place)
    expect(result).toMatchObject({ kills: 6, assignedTwice: [], lost: [], executedTwice: [] })
    expect(result.committed).toBeGreaterThan(12)
    expect(result.executed).toBe(result.used)
  },
  SWEEP_MS,
)
