import { pad } from 'viem'
import { beforeEach, expect, test } from 'vitest'
import type { BlockRef } from '../../ledger/slot.js'
import type { LaneContext } from '../engine/core.js'
import { createDeepReorgs, type DeepReorgs } from './finality.js'

const blockOf = (number: number, fork = 'a'): BlockRef => ({ number, hash: pad(`0x${number}${fork}`) })

const held = new Set<string>()
let settled: (nonce: number) => boolean
let reorgs: DeepReorgs

beforeEach(() => {
  held.clear()
  settled = () => true
  const holds = { has: (reason: string) => held.has(reason), lift: (reason: string) => held.delete(reason) }
  const apply = (nonce: number) => {
    if (settled(nonce)) held.add('deepReorg')
    return { row: settled(nonce) ? 32 : 28 }
  }
  reorgs = createDeepReorgs({ lane: { holds, apply, token: () => 1 } } as unknown as LaneContext)
})

test('lifts the hold once every nonce is back in the block that had left', () => {
  reorgs.left(5, blockOf(10))
  reorgs.left(4, blockOf(9))
  reorgs.came(blockOf(9))
  expect(held).toContain('deepReorg')
  reorgs.came(blockOf(10))
  expect(held).not.toContain('deepReorg')
})

test('treats the same transaction in another block as a reorg', () => {
  reorgs.left(5, blockOf(10))
  reorgs.came(blockOf(10, 'b'))
  expect(held).toContain('deepReorg')
})

test('a use that was not settled neither sets nor keeps the hold', () => {
  settled = (nonce) => nonce === 4
  reorgs.left(5, blockOf(10))
  reorgs.left(4, blockOf(9))
  reorgs.came(blockOf(9))
  expect(held).not.toContain('deepReorg')
})

test('a use that was not settled does not keep an existing hold', () => {
  reorgs.left(4, blockOf(9))
  settled = () => false
  reorgs.left(5, blockOf(10))
  reorgs.came(blockOf(9))
  expect(held).not.toContain('deepReorg')
})

test('does not wait for blocks that an operator has accepted', () => {
  reorgs.left(5, blockOf(10))
  held.delete('deepReorg')
  reorgs.left(6, blockOf(11))
  reorgs.came(blockOf(11))
  expect(held).not.toContain('deepReorg')
})

test('a returned block restores all of its nonces, of this lane and of other senders', () => {
  reorgs.left(4, blockOf(9))
  reorgs.left(5, blockOf(9))
  reorgs.came(blockOf(9))
  expect(held).not.toContain('deepReorg')
})
