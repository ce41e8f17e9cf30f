import { expect, test } from 'vitest'
import { createPassedBlocks } from './passedBlocks.js'

/** A map that counts the entries which are read from it. */
class Counted extends Map<number, string> {
  reads = 0
  override get(number: number) {
    this.reads++
    return super.get(number)
  }
  override *[Symbol.iterator](): MapIterator<[number, string]> {
    for (const entry of super.entries()) {
      this.reads++
      yield entry
    }
  }
}

function open(count: number) {
  const blocks = new Counted(Array.from({ length: count }, (_, number) => [number, `block ${number}`]))
  const passed = createPassedBlocks(blocks)
  return { blocks, passed, numbers: (limit: number) => passed.upTo(limit).map(([number]) => number) }
}

test('gives each block once, when the limit passes it', () => {
  const { numbers } = open(5)
  expect([numbers(-1), numbers(1), numbers(1), numbers(3)]).toEqual([[], [0, 1], [], [2, 3]])
})

test('gives a block again that was changed, or that the limit passes once more', () => {
  const { passed, numbers } = open(5)
  numbers(3)
  passed.added(2)
  passed.added(4)
  expect(numbers(3)).toEqual([2, 3])
  expect([numbers(1), numbers(3)]).toEqual([[], [2, 3]])
  passed.again()
  expect(numbers(3)).toEqual([0, 1, 2, 3])
})

test('reads nothing while the limit stands, and no more than it has passed, with 6,000 blocks above it', () => {
  const { blocks, numbers } = open(6_000)
  numbers(0)
  blocks.reads = 0
  for (let head = 0; head < 1_000; head++) numbers(0)
  expect(blocks.reads).toBe(0)
  numbers(10)
  expect(blocks.reads).toBe(10)
})
