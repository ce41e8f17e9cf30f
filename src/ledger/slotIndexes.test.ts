import { describe, expect, test } from 'vitest'
import { block } from './samples.fixture.js'
import { createBlockIndex, createNumberIndex } from './slotIndexes.js'

const FAR = 2 ** 40

describe('an index of nonces by the block that used them', () => {
  test('returns nonces in order, in any order of insertion and at any distance', () => {
    const index = createBlockIndex()
    for (const nonce of [FAR, 5, FAR + 1, 3]) index.add(block(20), nonce)
    index.add(block(19), 4)
    expect(index.of(block(20).hash)).toEqual([3, 5, FAR, FAR + 1])
    expect(index.upTo(20)).toEqual([3, 4, 5, FAR, FAR + 1])
    expect(index.upTo(19)).toEqual([4])
  })

  test('separates two blocks that share a number', () => {
    const index = createBlockIndex()
    index.add(block(20), 5)
    index.add(block(20, 'fork'), 6)
    index.remove(block(20), 5)
    expect([index.of(block(20).hash), index.of(block(20, 'fork').hash), index.upTo(20)]).toEqual([
      [],
      [6],
      [6],
    ])
  })

  test('ignores the removal of an unknown block', () => {
    const [byBlock, byNumber] = [createBlockIndex(), createNumberIndex()]
    byBlock.remove(block(20), 5)
    byNumber.remove(20, 5)
    expect([byBlock.of(block(20).hash), byBlock.upTo(99), byNumber.upTo(99)]).toEqual([[], [], []])
  })
})
