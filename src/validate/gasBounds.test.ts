import { type Chain, defineChain } from 'viem'
import * as chains from 'viem/chains'
import { describe, expect, test } from 'vitest'
import type { TxRequest } from '../types/index.js'
import { leastGas, mostGas } from './gasBounds.js'
import { checkGas } from './validate.js'

const TO = `0x${'11'.repeat(20)}` as const
const transfer = { to: TO, value: 1n } as TxRequest

describe('gas is refused locally only where every client of the chain refuses it', () => {
  test.each<[string, Chain]>([
    ['Ethereum', chains.mainnet],
    ['Base', chains.base],
    ['Arbitrum', chains.arbitrum],
    ['Polygon', chains.polygon],
    ['a chain that says nothing of it', defineChain({ ...chains.anvil, custom: { other: 1 } })],
  ])('%s', (_, chain) => {
    expect(leastGas(transfer, chain)).toBe(21_000n)
    expect(() => checkGas({ ...transfer, gas: 20_999n }, chain)).toThrow('request.gas')
    checkGas({ ...transfer, gas: 21_000n }, chain)
  })

  const ofZkSync = Object.entries(chains).filter(([, chain]) =>
    Object.hasOwn((chain as Chain).custom ?? {}, 'getEip712Domain'),
  )
  test.each<[string, Chain]>([
    ...(ofZkSync as [string, Chain][]),
    ['IoTeX, whose transfers take 10,000', chains.iotex],
    ['a chain that says so', defineChain({ ...chains.anvil, custom: { ethereumGas: false } })],
  ])('and not on %s', (_, chain) => {
    expect(leastGas(transfer, chain)).toBe(0n)
    checkGas({ ...transfer, gas: 10_000n }, chain)
  })

  test('viem has chains of the zkSync stack', () => {
    expect(ofZkSync.map(([name]) => name)).toContain('zksync')
  })
})

test('forks that a header shows add to it: words of init code, the floor of calldata', () => {
  const creation = { data: `0x${'00'.repeat(64)}` } as TxRequest
  expect(leastGas(creation, chains.mainnet)).toBe(53_256n)
  expect(leastGas(creation, chains.mainnet, 'shanghai')).toBe(53_260n)
  const call = { to: TO, data: `0x${'ff'.repeat(100)}` } as TxRequest
  expect(leastGas(call, chains.mainnet, 'shanghai')).toBe(22_600n)
  expect(leastGas(call, chains.mainnet, 'prague')).toBe(25_000n)
})

describe('the highest gas limit is that of the newest block', () => {
  const block = (gasLimit: bigint) => ({ number: 7, gasLimit })
  test('if a header shows it', () => {
    expect(mostGas(chains.mainnet, block(60_000_000n))).toBe(60_000_000n)
    expect(() => checkGas({ ...transfer, gas: 60_000_001n }, chains.mainnet, block(60_000_000n))).toThrow(
      'at most 60000000, the gas limit of block 7, got 60000001n',
    )
    checkGas({ ...transfer, gas: 60_000_000n }, chains.mainnet, block(60_000_000n))
  })

  test.each([
    ['before any block was seen', chains.mainnet, undefined],
    ['where the limit has no room for a transfer', chains.mainnet, block(20_999n)],
    ['on a chain with a fee model of its own', chains.zksync, block(60_000_000n)],
  ])('it is not known %s', (_, chain, shown) => {
    expect(mostGas(chain, shown)).toBeUndefined()
    checkGas({ ...transfer, gas: 2n ** 40n }, chain, shown)
  })
})
