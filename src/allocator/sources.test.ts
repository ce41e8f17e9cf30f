import { encodeAbiParameters, keccak256 } from 'viem'
import { expect, test } from 'vitest'
import { accountNonce, entryPointNonce, forwarderNonce, safeNonce, storageNonce } from './sources.js'

const entryPoint = '0x0000000071727De22E5E9d8BAf0edAc6f37da032'
const sender = '0x1111111111111111111111111111111111111111'
const word = (value: bigint) => encodeAbiParameters([{ type: 'uint256' }], [value])

test('reads the sequence of an EntryPoint from the slot of the compiled contract', () => {
  const { counter } = entryPointNonce({ entryPoint, sender })
  expect(counter).toEqual({
    address: entryPoint.toLowerCase(),
    slot: '0x53576231d24dd226f8944f9473fe29cd80ca059775ce9d983d1726c8fe5174a6',
  })
})

test('composes the nonce of a user operation from its key and the sequence of that key', () => {
  const first = entryPointNonce({ entryPoint, sender })
  const other = entryPointNonce({ entryPoint, sender, key: 7n })
  expect(first.nonceOf(5n)).toBe(5n)
  expect(other.nonceOf(5n)).toBe((7n << 64n) | 5n)
  expect(other.counter?.slot).not.toBe(first.counter?.slot)
})

test('reads a Safe from slot 5 of the proxy, and a forwarder from the mapping at slot 2', () => {
  expect(safeNonce({ safe: sender }).counter).toEqual({ address: sender, slot: '0x5' })
  const { counter } = forwarderNonce({ forwarder: entryPoint, from: sender })
  expect(counter?.slot).toBe(keccak256(`0x${sender.slice(2).padStart(64, '0')}${word(2n).slice(2)}`))
})

test('accepts any slot, with a decoder if the word contains other data', () => {
  const source = storageNonce({ address: sender, slot: 3n, decode: (at) => BigInt(at) & 0xffn })
  expect(source.decode(word(0x1205n))).toBe(5n)
  expect(storageNonce({ address: sender, slot: 3n }).decode(word(0x1205n))).toBe(0x1205n)
  expect(accountNonce().counter).toBeUndefined()
})

test('refuses a bad address, slot, key or decoder at once', () => {
  expect(() => entryPointNonce({ entryPoint: '0x12', sender })).toThrow('source.entryPoint')
  expect(() => entryPointNonce({ entryPoint, sender: '0x' })).toThrow('source.sender')
  expect(() => entryPointNonce({ entryPoint, sender, key: 2n ** 192n })).toThrow('source.key')
  expect(() => storageNonce({ address: sender, slot: -1n })).toThrow('source.slot')
  expect(() => storageNonce({ address: sender, slot: 0n, decode: 1 as never })).toThrow('source.decode')
  expect(() => storageNonce({ address: sender, slot: 0n, getter: '0x1234' })).toThrow('source.getter')
  expect(() => safeNonce({ safe: '0x' })).toThrow('source.address')
  expect(() => forwarderNonce({ forwarder: entryPoint, from: '0x' })).toThrow('source.from')
})
