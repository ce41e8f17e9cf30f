import { describe, expect, test } from 'vitest'
import type { ChainView, SealedBlock } from '../chain/chainView.js'
import { anvilNumberOf, type SelectorContext, select } from './selectors.js'

const hashOf = (number: number) => `0x${(number + 160).toString(16).padStart(64, '0')}` as const

const blocks: SealedBlock[] = Array.from({ length: 6 }, (_, index) => ({
  number: 100 + index,
  hash: hashOf(100 + index),
  lastAnvil: 100 + index * 10,
  timestampMs: 1_000 * index,
  flashblocks: [],
  header: {},
}))

const view: ChainView = {
  sealed: blocks,
  length: 6,
  open: [],
  opening: { timestampMs: 0, baseFeePerGas: 0n },
  hidden: false,
}

const context: SelectorContext = {
  view,
  byHash: (_, hash) => blocks.find((block) => block.hash === hash.toLowerCase()),
  safe: { lagMs: 2_000, stepMs: 1_000 },
  finalized: { lagMs: 9_000, stepMs: 1_000 },
  pendingIs: 'building',
}

describe('block selectors', () => {
  test.each([
    [undefined, 105],
    ['latest', 105],
    ['safe', 103],
    ['finalized', 100],
    ['0x66', 102],
    [hashOf(101), 101],
    [hashOf(101).toUpperCase().replace('0X', '0x'), 101],
    [{ blockNumber: '0x66' }, 102],
    [{ blockHash: hashOf(104), requireCanonical: true }, 104],
  ])('%o selects a sealed block', (selector, number) => {
    expect(select(context, selector)).toMatchObject({ kind: 'sealed', block: { number } })
  })

  test('a number before the fork is the same on anvil, also for earliest', () => {
    expect(select(context, '0x5')).toEqual({ kind: 'forked', number: 5 })
    expect(select(context, 'earliest')).toEqual({ kind: 'forked', number: 0 })
  })

  test.each(['0x70', hashOf(900), { blockHash: hashOf(900) }])('%o is absent', (selector) => {
    expect(select(context, selector)).toEqual({ kind: 'absent' })
  })

  test.each(['newest', '12', 12, {}, [], '0x', `0x${'f'.repeat(17)}`])('%o is invalid', (selector) => {
    expect(select(context, selector).kind).toBe('invalid')
  })

  test('state is read at the last anvil block of the selected block', () => {
    const at = (selector: unknown) => anvilNumberOf(view, select(context, selector))
    expect([at('latest'), at('0x64'), at('pending'), at('0x5'), at('0x70')]).toEqual([
      150,
      100,
      150,
      5,
      undefined,
    ])
  })

  test('pending is the sealed head while a flashblock is lost', () => {
    const hidden = { ...context, view: { ...view, hidden: true } }
    expect(select(hidden, 'pending')).toMatchObject({ kind: 'sealed', block: { number: 105 } })
    expect(select(context, 'pending')).toEqual({ kind: 'pending' })
  })

  test('pending is the sealed head on a chain that shows no block in progress', () => {
    const latest = { ...context, pendingIs: 'latest' as const }
    expect(select(latest, 'pending')).toMatchObject({ kind: 'sealed', block: { number: 105 } })
  })
})
