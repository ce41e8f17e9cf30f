import { describe, expect, it } from 'vitest'
import { landingOf } from '../../bench/support/landing.js'

const seen = {
  firstHead: 10,
  begunAtMs: 1_000,
  seenAtMs: new Map([
    [11, 1_900],
    [13, 3_900],
  ]),
  pooledAtMs: 1_400,
}

describe('the landing of a burst', () => {
  it('is read from the blocks: the number of transactions, the time of the last, and its block after the first send', () => {
    const bodies = [
      { block: 11, transfers: [1, 2] },
      { block: 12, transfers: [3] },
      { block: 13, transfers: [] },
    ]
    expect(landingOf(bodies, seen)).toEqual({
      landed: 3,
      // Block 12 was not seen alone: it was there when block 13 was seen.
      ms: 2_900,
      pooledMs: 400,
      blocks: 2,
      points: [
        [0, 0],
        [900, 2],
        [2_900, 3],
      ],
    })
  })

  it('has no end if no transaction landed', () => {
    const lost = { ...seen, pooledAtMs: undefined }
    expect(landingOf([{ block: 11, transfers: [] }], lost)).toEqual({
      landed: 0,
      ms: undefined,
      pooledMs: undefined,
      blocks: 0,
      points: [[0, 0]],
    })
  })

  it('does not count gap fillers, and refuses a transaction that was executed twice', () => {
    expect(landingOf([{ block: 11, transfers: [0, 1, 0] }], seen)).toMatchObject({ landed: 1 })
    expect(() => landingOf([{ block: 11, transfers: [1, 1] }], seen)).toThrow('twice')
  })
})
