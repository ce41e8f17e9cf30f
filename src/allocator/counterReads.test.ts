import { encodeAbiParameters, type Hex, numberToHex, toFunctionSelector } from 'viem'
import { expect, test } from 'vitest'
import { createCallPort, type StubAnswer } from '../../test/contract/stubPort.js'
import type { RpcCall } from '../rpc/port.js'
import { createProfile, type GivenProfile } from '../rpc/profile.js'
import { type CounterReading, createCounterReads } from './counterReads.js'
import { entryPointNonce, forwarderNonce, type NonceSource, safeNonce, storageNonce } from './sources.js'

const CHAIN_ID = 7
const address = '0x1111111111111111111111111111111111111111'
const word = (value: bigint): Hex => encodeAbiParameters([{ type: 'uint256' }], [value])
const reverted: StubAnswer = { failure: { kind: 'rpc', code: 3, message: 'execution reverted' } }
const lost: StubAnswer = { failure: { kind: 'timeout', message: 'no answer' } }

type Node = {
  /** The value in the slot. */
  stored: { latest: bigint; pending: bigint }
  /** The value that the contract returns. */
  counted: { latest: bigint; pending: bigint }
  /** Answers instead of the contract. */
  call?: (call: RpcCall) => StubAnswer
  /** @default the requested one */
  chainId?: number
}

function setUp(options: { source?: NonceSource<bigint>; profile?: GivenProfile; node: Node }) {
  const { source = safeNonce({ safe: address }), node } = options
  const port = createCallPort((call) => {
    if (call.method === 'eth_chainId') return { result: numberToHex(node.chainId ?? CHAIN_ID) }
    // An override of code follows the tag.
    const tag = call.params[call.method === 'eth_call' ? 1 : 2] as 'latest' | 'pending'
    if (call.method === 'eth_getStorageAt') return { result: word(node.stored[tag]) }
    return node.call?.(call) ?? { result: word(node.counted[tag]) }
  })
  const profile = createProfile(options.profile)
  const reads = createCounterReads({
    source,
    reader: () => ({ port, profile }),
    chainId: CHAIN_ID,
    timeoutMs: 1_000,
  })
  async function look(): Promise<CounterReading> {
    let reading: CounterReading | undefined
    await reads.readUntil((replies, request) => {
      reading = request.read(replies)
      return reading !== undefined
    })
    return reading!
  }
  /** The calls of the last request, except the one for the chain id: the kind and the block of each. */
  const asked = () => {
    const calls = port.batches
      .at(-1)
      ?.map(
        ({ method, params }) => `${method} ${params[method === 'eth_call' ? 1 : params.length - 1] ?? ''}`,
      )
    expect(calls?.pop()).toBe('eth_chainId ')
    return calls
  }
  return { look, asked, profile, port }
}

const both = (count: bigint) => ({ latest: count, pending: count })

test('calls the getters by the selectors of the contracts', () => {
  const selectors = (source: NonceSource<bigint>) => source.getters.map(({ data }) => data.slice(0, 10))
  expect(selectors(safeNonce({ safe: address }))).toEqual([toFunctionSelector('nonce()')])
  expect(selectors(entryPointNonce({ entryPoint: address, sender: address }))).toEqual([
    toFunctionSelector('getNonce(address,uint192)'),
  ])
  expect(selectors(forwarderNonce({ forwarder: address, from: address }))).toEqual([
    toFunctionSelector('nonces(address)'),
    toFunctionSelector('getNonce(address)'),
  ])
})

test('trusts a slot that agrees with the getter, and does not call the getter for latest again', async () => {
  const { look, asked } = setUp({
    node: { stored: both(5n), counted: both(5n) },
    profile: { pendingState: true },
  })
  expect(await look()).toEqual({ latest: 5n, pending: 5n })
  expect(await look()).toEqual({ latest: 5n, pending: 5n })
  expect(asked()).toEqual(['eth_getStorageAt latest', 'eth_getStorageAt pending'])
})

test('refuses a slot with a different value, naming both counts', async () => {
  const { look } = setUp({ node: { stored: both(1n), counted: both(4n) } })
  await expect(look()).rejects.toThrow('expected the contract\'s counter, 4, got "a slot that holds 1"')
})

test('sees no mismatch in a block between slot and getter', async () => {
  const node: Node = { stored: both(5n), counted: both(6n) }
  const { look } = setUp({
    node: {
      ...node,
      call: () => {
        // Its request is over: the next one finds both at the new count.
        queueMicrotask(() => Object.assign(node.stored, both(6n)))
        return { result: word(6n) }
      },
    },
  })
  expect(await look()).toEqual({ latest: 6n, pending: 6n })
})

test('ignores the value at that address on an endpoint of another chain', async () => {
  const { look } = setUp({ node: { stored: both(5n), counted: both(5n), chainId: 8 } })
  await expect(look()).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' })
})

test('proves nothing by an empty slot: calls the getter until both have moved, or it differs', async () => {
  const node: Node = { stored: both(0n), counted: both(0n) }
  const { look, asked } = setUp({ node, profile: { pendingState: true } })
  expect(await look()).toEqual({ latest: 0n, pending: 0n })
  expect(asked()).toContain('eth_call latest')
  Object.assign(node, { counted: both(1n) })
  await expect(look()).rejects.toMatchObject({ code: 'INVALID' })
})

test('uses the first getter that the contract answers', async () => {
  const old = toFunctionSelector('getNonce(address)')
  const { look } = setUp({
    source: forwarderNonce({ forwarder: address, from: address }),
    node: {
      stored: both(3n),
      counted: both(3n),
      call: ({ params }) =>
        (params[0] as { data: Hex }).data.startsWith(old) ? { result: word(3n) } : reverted,
    },
  })
  expect(await look()).toEqual({ latest: 3n, pending: 3n })
})

test('refuses an address without the contract or the getter, and repeats an unanswered getter', async () => {
  const answers: StubAnswer[] = [{ result: '0x' }, reverted, lost]
  const node: Node = { stored: both(3n), counted: both(3n) }
  const { look } = setUp({ node: { ...node, call: () => answers.shift() ?? { result: word(3n) } } })
  await expect(look()).rejects.toMatchObject({ code: 'INVALID' })
  await expect(look()).rejects.toMatchObject({ code: 'INVALID' })
  await expect(look()).rejects.toMatchObject({ code: 'UNREACHABLE', failure: 'timeout' })
  expect((await look()).latest).toBe(3n)
})

test('calls the getter at pending if storage at pending is not shown, by the profile or by observation', async () => {
  const node: Node = { stored: both(5n), counted: { latest: 5n, pending: 7n } }
  const given = setUp({ node, profile: { pendingState: false } })
  expect(await given.look()).toEqual({ latest: 5n, pending: 7n })
  expect(given.asked()).not.toContain('eth_getStorageAt pending')
  const seen = setUp({ node })
  expect(await seen.look()).toEqual({ latest: 5n, pending: 7n })
  expect(seen.profile.current().pendingState).toBe(false)
  await seen.look()
  expect(seen.asked()).toEqual(['eth_getStorageAt latest', 'eth_call pending'])
})

test('relies on storage at pending once it shows pre-confirmed values', async () => {
  const count = { latest: 5n, pending: 7n }
  const { look, asked, profile } = setUp({ node: { stored: count, counted: count } })
  expect(await look()).toEqual(count)
  expect(profile.current().pendingState).toBe(true)
  await look()
  expect(asked()).toEqual(['eth_getStorageAt latest', 'eth_getStorageAt pending'])
})

test('reads no pending value from an endpoint whose pending equals latest', async () => {
  const { look, asked } = setUp({
    node: { stored: both(5n), counted: both(5n) },
    profile: { pending: 'latest' },
  })
  expect(await look()).toEqual({ latest: 5n, pending: 5n })
  expect(asked()).not.toContain('eth_getStorageAt pending')
})

test('reads a slot without a getter by an override of code, where storage at pending is not shown', async () => {
  const source = storageNonce({ address, slot: 3n })
  const marked = (count: bigint): StubAnswer => ({
    result: `${word(0x74786c616e65n)}${word(count).slice(2)}`,
  })
  const node: Node = { stored: both(5n), counted: both(5n), call: () => marked(7n) }
  const { look, profile, asked } = setUp({ source, node })
  expect(await look()).toEqual({ latest: 5n, pending: 7n })
  expect(profile.current().pendingState).toBe(false)
  const refusing = setUp({ source, node: { ...node, call: () => reverted } })
  expect(await refusing.look()).toEqual({ latest: 5n, pending: 5n })
  expect(asked()).toContain('eth_getStorageAt pending')
})

test("verifies the slot with the caller's getter, and requires a count from a decoder", async () => {
  const getter = '0x12345678'
  const decode = (at: Hex) => BigInt(at) & 0xffn
  const source = storageNonce({ address, slot: 3n, decode, getter })
  const { look } = setUp({ source, node: { stored: both(0x1205n), counted: both(5n) } })
  expect((await look()).latest).toBe(5n)
  const wrong = storageNonce({ address, slot: 3n, decode: Number as never })
  const without = setUp({ source: wrong, node: { stored: both(5n), counted: both(5n) } })
  await expect(without.look()).rejects.toThrow('source.decode')
})

test('reads another endpoint by its own profile after a switch', async () => {
  const nodes = [11n, 12n].map((count) => setUp({ node: { stored: both(count), counted: both(count) } }))
  let current = 0
  const reads = createCounterReads({
    source: safeNonce({ safe: address }),
    reader: () => nodes[current]!,
    chainId: CHAIN_ID,
    timeoutMs: 1_000,
  })
  const found: bigint[] = []
  const look = () =>
    reads.readUntil((replies, request) => {
      const reading = request.read(replies)
      if (reading) found.push(reading.latest)
      return reading !== undefined
    })
  await look()
  current = 1
  await look()
  expect(found).toEqual([11n, 12n])
  expect(nodes.map(({ port }) => port.batches.length > 0)).toEqual([true, true])
})
