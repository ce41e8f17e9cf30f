import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Hex, keccak256, toBytes } from 'viem'
import { expect, test } from 'vitest'
import { hashOf } from './hash.js'

test.each(['', 'a', 'ü', 'x'.repeat(1_000)])('the hash of %o is that of viem', (text) => {
  expect(hashOf(toBytes(text))).toBe(keccak256(toBytes(text)))
})

test('a hash that is kept needs about as many bytes as it has characters', () => {
  const COUNT = 10_000
  const kept: Hex[] = []
  const before = heapBytes()
  for (let index = 0; index < COUNT; index++) kept.push(hashOf(toBytes(index)))
  const each = (heapBytes() - before) / COUNT
  expect(kept).toHaveLength(COUNT)
  // 66 characters and two headers.
  expect(each).toBeLessThan(250)
})

/** After a full collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
