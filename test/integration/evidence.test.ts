import { type Address, createWalletClient, type Hash, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ReadEvidenceQuery, readEvidence } from '../../src/chain/blocks/nonceEvidence.js'
import type { Port, RpcCall, RpcReply } from '../../src/rpc/port.js'
import { signatures } from '../../src/rpc/signatures.js'
import { anvilChain, startAnvil, type TestAnvil } from '../support/anvil.js'

// The first two accounts of anvil's well-known test mnemonic.
const lane = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const sponsor = privateKeyToAccount('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')
const address = lane.address
const NOTHING = { kind: expect.stringMatching(/^(unsure|unreadable|notUsed)$/) }

let node: TestAnvil
let walked: Map<number, Hash>
let journaled: Map<number, Set<Hash>>

beforeEach(async () => {
  node = await startAnvil()
  walked = new Map()
  journaled = new Map()
})
afterEach(async () => {
  await node.stop()
})

async function mine(blocks = 1): Promise<number> {
  let number = 0
  for (let mined = 0; mined < blocks; mined++) {
    const block = await node.mine()
    number = block.number
    walked.set(block.number, block.hash)
  }
  return number
}

/** Sends a transaction of the account that the lane journaled. */
async function sendOwn(nonce: number, value = 0): Promise<Hash> {
  const hash = await node.transfer(address, nonce, value)
  journaled.set(nonce, (journaled.get(nonce) ?? new Set()).add(hash))
  return hash
}

/** Sends a transaction that another wallet signed with the same key. */
const sendForeign = (nonce: number) => node.transfer(address, nonce, 1_000)

type Ask = Partial<ReadEvidenceQuery> & Pick<ReadEvidenceQuery, 'nonce' | 'from' | 'to'>

function ask(query: Ask, port: Port = node.port) {
  const own = (nonce: number): ReadonlySet<Hash> => journaled.get(nonce) ?? new Set()
  return readEvidence(port, {
    address,
    own,
    isOwn: (hash) => [...journaled.values()].some((hashes) => hashes.has(hash)),
    signatures,
    hashAt: (number) => walked.get(number),
    chainId: 31_337,
    ...query,
  })
}

const isCount = (call: RpcCall) => call.method === 'eth_getTransactionCount'

/** The node with some of its answers changed. */
function altered(batch: (calls: readonly RpcCall[], index: number) => Promise<readonly RpcReply[]>): Port {
  let index = 0
  return { ...node.port, batch: (calls) => batch(calls, index++) }
}

/** The node as if it had pruned every state below a block. */
function prunedBelow(block: number): Port {
  const failure = { kind: 'rpc', code: -32_000, message: 'missing trie node 00 (path )' } as const
  return altered(async (calls) => {
    const replies = await node.port.batch(calls)
    return replies.map((reply, index) => {
      const call = calls[index]
      const refused = call !== undefined && isCount(call) && Number(call.params[1]) < block
      return refused ? { ok: false, failure } : reply
    })
  })
}

/**
 * An authorization of the account, carried by another account: it uses a nonce without a transaction of the
 * account.
 */
async function authorize(nonce: number): Promise<void> {
  const client = createWalletClient({ account: sponsor, chain: anvilChain, transport: http(node.url) })
  const authorization = await client.signAuthorization({
    account: lane,
    contractAddress: sponsor.address,
    nonce,
  })
  await client.sendTransaction({
    to: sponsor.address as Address,
    authorizationList: [authorization],
    gas: 200_000n,
    nonce: 0,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
  })
}

describe('evidence on a real chain', () => {
  it('proves a foreign use of the nonce, in the newest block or long ago', async () => {
    await sendOwn(0)
    const before = await mine(3)
    const foreign = await sendForeign(1)
    const used = await mine()
    const block = { number: used, hash: walked.get(used) }
    const other = { kind: 'other', witnesses: [{ nonce: 1, hash: foreign }], block }
    expect(await ask({ nonce: 1, from: before, to: used })).toEqual(other)
    const head = await mine(60)
    expect(await ask({ nonce: 1, from: before, to: head })).toEqual(other)
    expect(await ask({ nonce: 1, from: head, to: head })).toEqual(other)
  })

  it('finds our own attempt that the walk missed', async () => {
    const missed = await sendOwn(0)
    const used = await mine()
    await sendForeign(1)
    const head = await mine(20)
    const block = { number: used, hash: walked.get(used) }
    const own = { kind: 'own', hash: missed, block, beside: [missed] }
    expect(await ask({ nonce: 0, from: 0, to: used })).toEqual(own)
    expect(await ask({ nonce: 0, from: head, to: head })).toEqual(own)
  })

  it('has nothing to explain while the transaction waits in the pool', async () => {
    const head = await mine(2)
    await sendForeign(0)
    expect(await ask({ nonce: 0, from: 1, to: head })).toEqual({ kind: 'notUsed' })
  })

  it('proves the use of a nonce by a tuple that the account signed and another account carried', async () => {
    await authorize(0)
    const used = await mine()
    const other = {
      kind: 'other',
      witnesses: [{ nonce: 0 }],
      block: { number: used, hash: walked.get(used) },
    }
    expect(await ask({ nonce: 0, from: 0, to: used })).toMatchObject(other)
    const head = await mine(3)
    expect(await ask({ nonce: 0, from: 0, to: head })).toMatchObject(other)
  })

  it('covers all nonces of one block with one proof', async () => {
    for (let nonce = 0; nonce < 5; nonce++) await (nonce === 3 ? sendOwn(nonce) : sendForeign(nonce))
    const used = await mine()
    expect(await ask({ nonce: 0, from: 0, to: used })).toMatchObject({
      witnesses: [{ nonce: 0 }, { nonce: 1 }, { nonce: 2 }],
    })
    expect(await ask({ nonce: 3, from: 0, to: used })).toMatchObject({ kind: 'own' })
    expect(await ask({ nonce: 4, from: 0, to: used })).toMatchObject({ witnesses: [{ nonce: 4 }] })
  })
})

describe('evidence while the chain is rolled back', () => {
  it('concludes nothing while the walk is on an orphaned fork, and sees the new fork afterwards', async () => {
    const before = await mine(3)
    await sendForeign(0)
    const used = await mine()
    expect(await ask({ nonce: 0, from: before, to: used })).toMatchObject({ kind: 'other' })
    await node.rollback(1)
    expect(await ask({ nonce: 0, from: before, to: used })).toMatchObject(NOTHING)
    const own = await sendOwn(0)
    const { number, hash } = await node.mine()
    expect(number).toBe(used)
    expect(await ask({ nonce: 0, from: before, to: used })).toMatchObject(NOTHING)
    walked.set(number, hash)
    expect(await ask({ nonce: 0, from: before, to: used })).toEqual({
      kind: 'own',
      hash: own,
      block: { number, hash },
      beside: [own],
    })
  })

  /** Removes the block with the foreign use, and mines one with our own transaction in its place. */
  async function reorganise(): Promise<void> {
    await node.rollback(1)
    await sendOwn(0)
    await node.mine()
  }

  it.each([1, 2])('gives no false verdict if the chain changes before request %i', async (request) => {
    const before = await mine(3)
    await sendForeign(0)
    const used = await mine()
    walked.clear()
    const port = altered(async (calls, index) => {
      if (index === request) await reorganise()
      return node.port.batch(calls)
    })
    // The nonce holds our own transaction by then, so only a verdict of foreign use would be wrong.
    expect((await ask({ nonce: 0, from: before, to: used }, port)).kind).not.toBe('other')
  })
})

describe('evidence from two nodes on different forks behind one URL', () => {
  it('concludes nothing from counts of one node and blocks of the other', async () => {
    // With the same genesis time and block times, the two nodes share their chain up to the last block.
    const args = ['--timestamp', '1800000000']
    await using here = await startAnvil(args)
    await using there = await startAnvil(args)
    for (const each of [here, there]) {
      for (let mined = 1; mined <= 5; mined++) {
        await each.request('evm_setNextBlockTimestamp', [1_800_000_000 + 10 * mined])
        const block = await each.mine()
        expect(walked.get(mined) ?? block.hash).toBe(block.hash)
        walked.set(block.number, block.hash)
      }
    }
    await here.transfer(address, 0, 1_000)
    const used = await here.mine()
    await there.transfer(sponsor.address, 0)
    const unused = await there.mine()
    expect(unused.number).toBe(used.number)
    expect(unused.hash).not.toBe(used.hash)

    const mixed = (countsBy: TestAnvil, blocksBy: TestAnvil): Port =>
      altered(async (calls) => {
        const [counts, blocks] = await Promise.all([countsBy.port.batch(calls), blocksBy.port.batch(calls)])
        return calls.map((call, index) => (isCount(call) ? counts : blocks)[index] as RpcReply)
      })
    const query = { nonce: 0, from: 5, to: 6 }
    expect(await ask(query, here.port)).toMatchObject({ kind: 'other', block: used })
    expect(await ask(query, there.port)).toEqual({ kind: 'notUsed' })
    expect(await ask(query, mixed(here, there))).toMatchObject(NOTHING)
    walked.set(6, unused.hash)
    expect(await ask(query, here.port)).toMatchObject(NOTHING)
    expect(await ask(query, mixed(here, there))).toMatchObject(NOTHING)
  })
})

describe('evidence if old state is pruned', () => {
  it('accepts the block body that holds the nonce as proof, foreign or own', async () => {
    const before = await mine(3)
    const own = await sendOwn(0)
    const usedByOwn = await mine()
    const foreign = await sendForeign(1)
    const used = await mine()
    const head = await mine(30)
    const port = prunedBelow(head - 10)
    const at = (number: number) => ({ number, hash: walked.get(number) })
    const other = { kind: 'other', witnesses: [{ nonce: 1, hash: foreign }], block: at(used) }
    expect(await ask({ nonce: 1, from: before, to: head }, port)).toEqual(other)
    expect(await ask({ nonce: 0, from: before, to: head }, port)).toEqual({
      kind: 'own',
      hash: own,
      block: at(usedByOwn),
      beside: [own],
    })
  })

  it('has no proof from a tuple alone, without the counts that pass its nonce', async () => {
    const before = await mine(3)
    await authorize(0)
    await mine()
    const head = await mine(30)
    const pruned = await ask({ nonce: 0, from: before, to: head }, prunedBelow(head - 10))
    expect(pruned.kind).toBe('unreadable')
    const served = await ask({ nonce: 0, from: before, to: head }, prunedBelow(before))
    expect(served).toMatchObject({ kind: 'other', witnesses: [{ nonce: 0 }] })
  })
})
