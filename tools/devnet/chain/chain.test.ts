import { type Hex, numberToHex, pad } from 'viem'
import { describe, expect, test } from 'vitest'
import type { RpcObject } from '../rpc/rpcTypes.js'
import { type ChainState, createChainState } from './chainState.js'
import { headOf, laggingView, newestAnvil, partialHash, placeOf, sealedAt, taggedBlock } from './chainView.js'
import { hashesOf, nextBaseFee, pendingHeader, secondsOf } from './headers.js'

const hash = (value: number): Hex => pad(numberToHex(value))

let salts = 0

function anvilBlock(number: number, transactions: readonly Hex[] = [], bloomBit = 0): RpcObject {
  return {
    number: numberToHex(number),
    hash: hash(1_000 + number),
    parentHash: hash(999 + number),
    timestamp: '0x64',
    baseFeePerGas: '0x3b9aca00',
    gasLimit: '0x1000000',
    gasUsed: numberToHex(transactions.length * 21_000),
    size: '0x200',
    logsBloom: numberToHex(bloomBit === 0 ? 0n : 1n << BigInt(bloomBit), { size: 256 }),
    transactions,
  }
}

function chainOf(options: { hasDeposits?: boolean; blockTimeMs?: number } = {}): ChainState {
  return createChainState({
    base: anvilBlock(0),
    baseHash: hash(1),
    blockTimeMs: options.blockTimeMs ?? 1_500,
    constantBaseFee: true,
    hasDeposits: options.hasDeposits ?? false,
    salt: () => {
      salts += 1
      return hash(50_000 + salts)
    },
  })
}

/** Appends `count` flashblocks with one transaction each to the block being built. */
function grow(chain: ChainState, count: number): void {
  for (let step = 0; step < count; step += 1) {
    const number = newestAnvil(chain.view()) + 1
    chain.append(anvilBlock(number, [hash(70_000 + number)], number), 1)
  }
}

describe('the chain of the devnet', () => {
  test("merges flashblocks: sums gas, bloom and size, and takes the last one's other fields", () => {
    const chain = chainOf()
    grow(chain, 3)
    const header = pendingHeader(chain.view())
    expect(header).toMatchObject({
      number: '0x1',
      parentHash: hash(1),
      gasUsed: numberToHex(63_000),
      size: '0x600',
    })
    expect(BigInt(header.logsBloom as Hex)).toBe(0b1110n)
    expect(chain.seal().header).toMatchObject({ number: '0x1', parentHash: hash(1), gasUsed: header.gasUsed })
  })

  test('places each anvil block by number, offset by the earlier flashblocks of its block', () => {
    const chain = chainOf()
    grow(chain, 3)
    const first = chain.seal()
    grow(chain, 2)
    const view = chain.view()
    expect(placeOf(view, 2)).toMatchObject({
      number: 1,
      hash: first.hash,
      flashblock: { before: { transactions: 1 } },
    })
    expect(placeOf(view, 5)).toMatchObject({
      number: 2,
      hash: partialHash(view),
      flashblock: { before: { transactions: 1, gas: 21_000n, logs: 1 } },
    })
    expect(placeOf(view, 6)).toBeUndefined()
  })

  test('a view does not change when the chain advances and reorganises', () => {
    const chain = chainOf()
    grow(chain, 2)
    const sealed = chain.seal()
    grow(chain, 1)
    const view = chain.view()
    chain.seal()
    chain.truncate(2)
    grow(chain, 1)
    const replacement = chain.seal()
    expect(headOf(view)).toBe(sealed)
    expect(sealedAt(view, 1)).toBe(sealed)
    expect(sealedAt(view, 2)).toBeUndefined()
    expect(newestAnvil(view)).toBe(3)
    expect(sealedAt(chain.view(), 1)).toBe(replacement)
    expect(replacement.hash).not.toBe(sealed.hash)
    expect(chain.byHash(chain.view(), sealed.hash)).toBeUndefined()
  })

  test('a hidden flashblock has no place until the next one is added', () => {
    const chain = chainOf()
    grow(chain, 1)
    chain.hide()
    expect(newestAnvil(chain.view())).toBe(0)
    expect(placeOf(chain.view(), 1)).toBeUndefined()
    chain.append(anvilBlock(2), 0)
    expect(placeOf(chain.view(), 1)?.number).toBe(1)
  })

  test('a lagging view has an earlier head and the flashblocks that were open at that time', () => {
    const chain = chainOf()
    for (let block = 0; block < 3; block += 1) {
      grow(chain, 4)
      chain.seal()
    }
    grow(chain, 2)
    const view = laggingView(chain.view(), 2, true)
    expect(headOf(view).number).toBe(1)
    expect(view.open.length).toBe(2)
    expect(newestAnvil(view)).toBe(6)
    expect(headOf(laggingView(chain.view(), 99, true)).number).toBe(0)
  })

  test('timestamps follow the block time, rounded down to whole seconds', () => {
    const chain = chainOf()
    const times = []
    for (let block = 0; block < 4; block += 1) {
      times.push(secondsOf(chain.view().opening))
      grow(chain, 1)
      chain.seal()
    }
    expect(times).toEqual([101, 103, 104, 106])
  })

  test('a lagging view of a chain without an open block has no open block either', () => {
    const chain = chainOf()
    for (let block = 0; block < 3; block += 1) {
      grow(chain, 1)
      chain.seal()
    }
    expect(laggingView(chain.view(), 1, false).open).toEqual([])
  })

  test('a tag lags by its lag in chain time, moves once per step, and never falls below the first block', () => {
    const chain = chainOf({ blockTimeMs: 200 })
    const tagged = []
    for (let block = 0; block <= 30; block += 1) {
      tagged.push(taggedBlock(chain.view(), { lagMs: 1_000, stepMs: 2_000 }).number)
      grow(chain, 1)
      chain.seal()
    }
    // Blocks 10, 20 and 30 are at 2, 4 and 6 s.
    expect(tagged).toEqual([...Array(10).fill(0), ...Array(10).fill(5), ...Array(10).fill(15), 25])
  })

  test('two deposits come before the transactions of a block, and count for its gas and its indices', () => {
    const chain = chainOf({ hasDeposits: true, blockTimeMs: 200 })
    grow(chain, 2)
    const sealed = chain.seal()
    const [first, second] = sealed.flashblocks
    const gas = first!.deposits.reduce((sum, { gasUsed }) => sum + gasUsed, 0n)
    expect([first!.deposits.length, second!.deposits.length]).toEqual([2, 0])
    expect(hashesOf(sealed.flashblocks)).toEqual([
      ...first!.deposits.map(({ hash: deposit }) => deposit),
      ...first!.hashes,
      ...second!.hashes,
    ])
    expect(first!.before).toMatchObject({ transactions: 2, gas })
    expect(second!.before.transactions).toBe(3)
    expect(BigInt(sealed.header.gasUsed as Hex)).toBe(gas + 42_000n)
  })

  test('a deposit names the milliseconds of its block, is unique, and vanishes with its block', () => {
    const chain = chainOf({ hasDeposits: true, blockTimeMs: 200 })
    const seen = new Set<string>()
    const parts: number[] = []
    for (let block = 0; block < 6; block += 1) {
      grow(chain, 1)
      const deposits = chain.seal().flashblocks[0]!.deposits
      for (const { hash: deposit } of deposits) seen.add(deposit)
      parts.push(Number(`0x${(deposits[1]!.transaction.input as string).slice(10)}`))
    }
    expect(parts).toEqual([200, 400, 600, 800, 0, 200])
    expect(seen.size).toBe(12)
    const gone = headOf(chain.view()).flashblocks[0]!.deposits[0]!.hash
    expect(chain.deposit(gone)).toMatchObject({ index: 0 })
    chain.truncate(1)
    expect(chain.deposit(gone)).toBeUndefined()
  })

  test.each([
    ['empty falls by an eighth', 0n, 875n],
    ['at the target stays the same', 500n, 1_000n],
    ['full rises by an eighth', 1_000n, 1_125n],
    ['slightly above the target rises by at least 1 wei', 501n, 1_001n],
  ])('the base fee after a block that is %s', (_, used, expected) => {
    const header = { baseFeePerGas: '0x3e8', gasLimit: numberToHex(1_000), gasUsed: numberToHex(used) }
    expect(nextBaseFee(used === 501n ? { ...header, baseFeePerGas: '0x3e8' } : header)).toBe(expected)
  })
})
