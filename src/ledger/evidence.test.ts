import type { Hash } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  type BlockReading,
  type BodyReading,
  type EvidenceQuery,
  findUse,
  judgeBody,
  judgePair,
  type PairReadings,
} from './evidence.js'

const h = (digit: string): Hash => `0x${digit.repeat(64)}`
const ADDRESS = '0xAbCdEfabcdefabcdefabcdefabcdefabcdefabcd'
const [PARENT, BLOCK, FORKED, STRANGER, OWN, OWN_NEXT] = ['1', '2', '3', '4', 'a', 'b'].map(h) as [
  Hash,
  Hash,
  Hash,
  Hash,
  Hash,
  Hash,
]
const parent: BlockReading = { number: 9, hash: PARENT, parentHash: h('0'), hashes: [] }
const block: BlockReading = { number: 10, hash: BLOCK, parentHash: PARENT, hashes: [STRANGER] }
const query: EvidenceQuery = { address: ADDRESS, nonce: 5, own: (nonce) => new Set(nonce === 5 ? [OWN] : []) }
/** Used in block 10, and in no earlier one, by nothing of ours. */
const pair: PairReadings = {
  number: 10,
  parents: [parent],
  blocks: [block, block],
  parentCounts: [5],
  counts: [6],
}

describe('judgePair', () => {
  it('calls a nonce used by another when the count passes it in a block without an own attempt', () => {
    expect(judgePair(query, pair)).toEqual({
      kind: 'other',
      hash: undefined,
      block: { number: 10, hash: BLOCK },
      upTo: 6,
    })
  })

  it('calls it our own when an own attempt stands in the block, whatever the counts say', () => {
    const withOwn = { ...block, hashes: [STRANGER, OWN] }
    const verdict = { kind: 'own', hash: OWN, block: { number: 10, hash: BLOCK } }
    expect(judgePair(query, { ...pair, blocks: [withOwn, withOwn] })).toEqual(verdict)
    expect(judgePair(query, { ...pair, blocks: [withOwn, withOwn], counts: [undefined] })).toEqual(verdict)
  })

  const nothing: [string, Partial<PairReadings>][] = [
    ['the parent link is broken', { parents: [{ ...parent, hash: FORKED }] }],
    ['the parent was not read', { parents: [undefined] }],
    ['the parent was read from two forks', { parents: [parent, { ...parent, hash: FORKED }] }],
    ['the second reading shows another block', { blocks: [block, { ...block, hash: FORKED }] }],
    ['the second reading has other contents', { blocks: [block, { ...block, hashes: [STRANGER, OWN] }] }],
    ['the second reading failed', { blocks: [block, undefined] }],
    ['the block was read once only, before the counts, and never after them', { blocks: [undefined, block] }],
    ['the block was never read', { blocks: [] }],
    [
      'the block has no hash yet',
      {
        blocks: [
          { ...block, hash: null },
          { ...block, hash: null },
        ],
      },
    ],
    [
      'the block answered is not the one asked for',
      {
        blocks: [
          { ...block, number: 11 },
          { ...block, number: 11 },
        ],
      },
    ],
    ['the count was not read', { counts: [undefined] }],
    ['the count of the block itself is refused', { counts: ['refused'] }],
    ['two readings of the count differ', { counts: [6, 5] }],
    ['one of two readings of the count failed', { counts: [6, undefined] }],
    ['no count was asked for', { counts: [] }],
    ['the parent count was not read', { parentCounts: [undefined] }],
    ['two readings of the parent count differ', { parentCounts: [5, 6] }],
    ['the count falls from the parent to the block', { parentCounts: [7], counts: [6] }],
    ['the count falls from the parent to the block, to the nonce', { parentCounts: [6], counts: [5] }],
    ['the head is gone', { head: { number: 12, reading: undefined } }],
    ['the head answered is not the one asked for', { head: { number: 12, reading: block } }],
  ]
  it.each(nothing)('concludes nothing when %s', (_, change) => {
    expect(judgePair(query, { ...pair, ...change })).toEqual({ kind: 'unsure' })
  })

  it('concludes nothing when the block, its parent or the head are not those that were walked', () => {
    const head = { number: 12, reading: { ...block, number: 12 } }
    const walked = (number: number, hash: Hash) => ({
      ...query,
      hashAt: (asked: number) => (asked === number ? hash : undefined),
    })
    for (const [number, hash] of [
      [9, PARENT],
      [10, BLOCK],
      [12, BLOCK],
    ] as const) {
      expect(judgePair(walked(number, hash), { ...pair, head }).kind).toBe('other')
      expect(judgePair(walked(number, FORKED), { ...pair, head })).toEqual({ kind: 'unsure' })
    }
  })

  it('has nothing to explain when the count has not passed the nonce', () => {
    expect(judgePair(query, { ...pair, counts: [5] })).toEqual({ kind: 'notUsed' })
    expect(judgePair(query, { ...pair, counts: [3], parentCounts: ['refused'] })).toEqual({ kind: 'notUsed' })
  })

  it('points to an earlier pair when the parent has passed the nonce as well', () => {
    expect(judgePair(query, { ...pair, parentCounts: [6], counts: [8] })).toEqual({ kind: 'earlier' })
  })

  it('finds no evidence where the parent count is refused, and before the first block', () => {
    expect(judgePair(query, { ...pair, parentCounts: ['refused'] })).toEqual({ kind: 'pruned' })
    const genesis = { ...block, number: 0 }
    const first = { number: 0, parents: [], blocks: [genesis, genesis], parentCounts: [], counts: [6] }
    expect(judgePair(query, first)).toEqual({ kind: 'pruned' })
  })

  it('covers the nonces that the same block used, up to one whose own attempt stands in it', () => {
    const own = (nonce: number) => new Set(nonce === 5 ? [OWN] : nonce === 8 ? [OWN_NEXT] : [])
    const used = { ...pair, parentCounts: [3], counts: [11] }
    expect(judgePair({ ...query, own }, used)).toMatchObject({ kind: 'other', upTo: 11 })
    const withNext = { ...block, hashes: [STRANGER, OWN_NEXT] }
    expect(judgePair({ ...query, own }, { ...used, blocks: [withNext, withNext] })).toMatchObject({
      kind: 'other',
      upTo: 8,
    })
  })

  it('bounds what an absurd count makes it look up', () => {
    const asked: number[] = []
    const own = (nonce: number) => {
      asked.push(nonce)
      return new Set<Hash>()
    }
    const verdict = judgePair({ ...query, own }, { ...pair, counts: [Number.MAX_SAFE_INTEGER] })
    expect(verdict).toMatchObject({ kind: 'other', upTo: 5 + 4_096 })
    expect(asked.length).toBeLessThanOrEqual(4_096)
  })
})

describe('judgeBody', () => {
  const foreign = { hash: STRANGER, from: ADDRESS.toLowerCase(), nonce: 5 }
  const body: BodyReading = { ...block, transactions: [foreign] }

  it('takes a transaction of the account with that nonce, not ours, as a proof by itself', () => {
    const other = { kind: 'other', hash: STRANGER, block: { number: 10, hash: BLOCK }, upTo: 6 }
    expect(judgeBody(query, { number: 10, body, again: block })).toEqual(other)
  })

  it('calls it our own when the body holds an own attempt', () => {
    const withOwn = { ...body, hashes: [OWN], transactions: [{ ...foreign, hash: OWN }] }
    const own = { kind: 'own', hash: OWN, block: { number: 10, hash: BLOCK } }
    expect(judgeBody(query, { number: 10, body: withOwn, again: { ...block, hashes: [OWN] } })).toEqual(own)
  })

  it('concludes nothing when the block is not read again the same, or not the one that was walked', () => {
    const unsure = { kind: 'unsure' }
    expect(judgeBody(query, { number: 10, body, again: undefined })).toEqual(unsure)
    expect(judgeBody(query, { number: 10, body, again: { ...block, hash: FORKED } })).toEqual(unsure)
    expect(judgeBody({ ...query, hashAt: () => FORKED }, { number: 10, body, again: block })).toEqual(unsure)
    const head = { number: 12, reading: undefined }
    expect(judgeBody(query, { number: 10, body, again: block, head })).toEqual(unsure)
  })

  it('proves nothing by the same nonce of another account, or another nonce of this one', () => {
    for (const transaction of [
      { ...foreign, from: `0x${'12'.repeat(20)}` },
      { ...foreign, nonce: 4 },
    ]) {
      const read = { number: 10, body: { ...body, transactions: [transaction] }, again: block }
      expect(judgeBody(query, read)).toEqual({ kind: 'pruned' })
    }
  })
})

describe('findUse', () => {
  it('tells whether the account used higher nonces, lower ones only, or none', () => {
    const sent = (...nonces: number[]) => ({
      ...block,
      transactions: nonces.map((nonce) => ({ hash: STRANGER, from: ADDRESS, nonce })),
    })
    expect(findUse(query, sent(4, 6)).kind).toBe('above')
    expect(findUse(query, sent(3, 4)).kind).toBe('below')
    expect(findUse(query, sent()).kind).toBe('nothing')
  })
})
