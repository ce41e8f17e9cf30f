import { type Hex, numberToHex, pad } from 'viem'
import { describe, expect, test } from 'vitest'
import type { RpcObject } from '../rpc/rpcTypes.js'
import { type ChainState, createChainState } from './chainState.js'
import { headOf, laggingView, newestAnvil, partialHash, placeOf, sealedAt } from './chainView.js'
import { nextBaseFee, pendingHeader } from './headers.js'

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

function chainOf(options: { constantBaseFee?: boolean } = {}): ChainState {
  return createChainState({
    base: anvilBlock(0),
    baseHash: hash(1),
    blockTimeMs: 1_500,
    constantBaseFee: options.constantBaseFee ?? true,
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
    const view = laggingView(chain.view(), 2)
    expect(headOf(view).number).toBe(1)
    expect(view.open.length).toBe(2)
    expect(newestAnvil(view)).toBe(6)
    expect(headOf(laggingView(chain.view(), 99)).number).toBe(0)
  })

  test('timestamps follow the block time, rounded down to whole seconds', () => {
    const chain = chainOf()
    const times = []
    for (let block = 0; block < 4; block += 1) {
      times.push(chain.view().opening.timestamp)
      grow(chain, 1)
      chain.seal()
    }
    expect(times).toEqual([101, 103, 104, 106])
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
