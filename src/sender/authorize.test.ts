import { type Hex, type LocalAccount, zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import type { TxRequest } from '../types.js'
import { openProcesses } from './processes.fixture.js'
import {
  ACCOUNT,
  onSend,
  openLane,
  refuses,
  type SimLane,
  type SimLaneOptions,
  swallow,
  transfer,
} from './simLane.fixture.js'

const DELEGATE = `0x${'de'.repeat(20)}` as const
const OTHER = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const own = { contractAddress: DELEGATE }

/** A transfer with delegations. */
function authorizing(marker: number, authorize: TxRequest['authorize'] = [own]): TxRequest {
  return { ...transfer(marker), gas: 200_000n, authorize } as TxRequest
}

/** On reth's rules, whose pending count tells little. */
const open = (options: SimLaneOptions = {}) => openLane({ chain: { rules: 'reth' }, ...options })

const nonceOnChain = (lane: SimLane) => lane.chain.nextNonce(ACCOUNT)

const sentNonces = (lane: SimLane) => lane.sent.map(({ nonce }) => nonce)

describe('a transaction that authorizes for its own account', () => {
  test('its tuples take the nonces after it, and the next transaction the one after those', async () => {
    await using lane = await open()
    const tx = await lane.settle(lane.sender.send(authorizing(1, [own, own])))
    const next = lane.sender.send(transfer(2), { until: 'queued' })
    await lane.settle(next)
    await lane.settle(lane.sender.drain())
    expect(tx.nonce).toBe(0)
    expect((await next).nonce).toBe(3)
    expect(lane.executed()).toEqual([1, 2])
    expect(nonceOnChain(lane)).toBe(4)
    expect(lane.sent[0]?.authorizations).toBe(2)
  })

  test('what its tuples use is no stranger’s, and leaves no gap', async () => {
    await using lane = await open()
    await lane.settle(lane.sender.send(authorizing(1)))
    await lane.settle(lane.sender.drain())
    for (const event of ['foreign', 'gap', 'unresolved'] as const) expect(lane.events(event)).toEqual([])
    expect(await lane.snapshot()).toMatchObject({ floor: 2, cursor: 2, holes: [], holds: [] })
  })

  test('it waits until all below it is used, and nothing is reserved above until a sealed block has it', async () => {
    await using lane = await open()
    const all = [transfer(1), transfer(2), authorizing(3), transfer(4)]
    const txs = await lane.settle(
      Promise.all(all.map((request) => lane.sender.send(request, { until: 'queued' }))),
    )
    lane.script = swallow(3)
    await lane.until(() => lane.sent.length > 2)
    expect(sentNonces(lane)).toEqual([0, 1, 2])
    expect(lane.chain.head.state.accounts.get(ACCOUNT)?.nonce).toBe(2)
    await lane.blocks(1)
    expect((await lane.snapshot()).holds).toEqual(['authorizing'])
    expect(Math.max(...sentNonces(lane))).toBe(2)
    lane.script = undefined
    await lane.settle(lane.sender.drain())
    expect(txs.map(({ nonce }) => nonce)).toEqual([0, 1, 2, 4])
    expect(lane.events('released')).toEqual([{ reason: 'authorizing' }])
  })

  test('the allocator hands out nothing above it either', async () => {
    await using lane = await open()
    lane.script = swallow(1)
    await lane.settle(lane.sender.send(authorizing(1)))
    expect((await lane.snapshot()).holds).toEqual(['authorizing'])
    expect(await lane.snapshot()).toMatchObject({ floor: 0, cursor: 2 })
  })

  test('a bump keeps its tuples, to the letter', async () => {
    let signatures = 0
    await using lane = await open()
    const { signAuthorization } = lane.account
    Object.assign(lane.account, {
      signAuthorization: (asked: Parameters<NonNullable<typeof signAuthorization>>[0]) => {
        signatures++
        return signAuthorization?.(asked)
      },
    })
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    lane.script = undefined
    await lane.settle(tx.speedUp())
    await lane.settle(tx.wait('sealed'))
    expect(lane.sent.map(({ nonce, authorizations }) => [nonce, authorizations])).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect(signatures).toBe(1)
  })

  test('displaced, it is signed anew for its next nonce, tuples and all', async () => {
    await using lane = await open()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    lane.script = undefined
    lane.foreign()
    await lane.settle(tx.wait('sealed'))
    await lane.settle(lane.sender.drain())
    expect(tx.nonce).toBe(1)
    expect(lane.executed()).toEqual(['foreign', 1])
    expect(nonceOnChain(lane)).toBe(3)
    expect(lane.events('foreign')).toMatchObject([{ nonce: 0 }])
  })

  test('cancelled, what was kept for its tuples goes to the next transaction', async () => {
    await using lane = await open()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    const cancelled = tx.cancel()
    expect(await lane.settle(cancelled)).toEqual({ result: 'cancelled' })
    expect(await lane.snapshot()).toMatchObject({ floor: 1, cursor: 1, holes: [], holds: [] })
    lane.script = undefined
    const next = await lane.settle(lane.sender.send(transfer(2)))
    expect(next.nonce).toBe(1)
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual(['noop', 2])
  })

  test('removed before it was journaled, it leaves nothing behind', async () => {
    await using lane = await open({ signMs: () => 1_000 })
    const tx = await lane.settle(lane.sender.send(authorizing(1), { until: 'queued' }))
    await lane.until(() => tx.nonce === 0)
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'removed' })
    expect(await lane.snapshot()).toMatchObject({ floor: 0, cursor: 0, holds: [] })
  })

  test('cancelled, and its tuple submitted by somebody else: foreign, and all of ours lands once', async () => {
    await using lane = await open()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    lane.script = undefined
    await lane.settle(tx.cancel())
    const txs = await lane.settle(Promise.all([2, 3].map((marker) => lane.sender.send(transfer(marker)))))
    lane.chain.adjust({ address: ACCOUNT, nonces: 1, code: `0xef0100${DELEGATE.slice(2)}` })
    await lane.settle(lane.sender.drain())
    // The one that was displaced lands after the other.
    expect(new Set(lane.executed().filter((name) => typeof name === 'number'))).toEqual(new Set([2, 3]))
    expect(lane.events('foreign').length).toBeGreaterThan(0)
    expect(await lane.snapshot()).toMatchObject({ holes: [], holds: [], account: { kind: 'delegated' } })
    expect(txs.every((one) => one.stage === 'sealed')).toBe(true)
  })

  test('what the chain did not use a block later is given back', async () => {
    await using lane = await open()
    const { signAuthorization } = lane.account
    // An account that signs for another chain, and says that it did not: the chain skips the tuple.
    Object.assign(lane.account, {
      signAuthorization: async (asked: Parameters<NonNullable<typeof signAuthorization>>[0]) => ({
        ...(await signAuthorization?.(asked)),
        r: `0x${'ab'.repeat(32)}`,
      }),
    })
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    const next = await lane.settle(lane.sender.send(transfer(2)))
    await lane.settle(lane.sender.drain())
    expect([tx.nonce, next.nonce]).toEqual([0, 1])
    expect(await lane.snapshot()).toMatchObject({ floor: 2, cursor: 2, holes: [], holds: [] })
  })

  test('refused for good, it frees its nonce and those of its tuples', async () => {
    await using lane = await open()
    lane.script = onSend(({ authorizations }) => (authorizations > 0 ? refuses('oversized data') : undefined))
    const error = await lane.rejection(lane.sender.send(authorizing(1)))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(await lane.snapshot()).toMatchObject({ floor: 0, cursor: 0, holes: [], holds: [] })
  })

  test('a gap below it is filled by a no-op: it does not wait for ever', async () => {
    await using lane = await open()
    lane.script = onSend(({ gas }) => (gas === 21_001 ? refuses('oversized data') : undefined))
    const doomed = lane.sender.send({ ...transfer(1), gas: 21_001n } as TxRequest)
    const rest = [transfer(2), authorizing(3)].map((request) => lane.sender.send(request, { until: 'queued' }))
    expect(await lane.rejection(doomed)).toMatchObject({ code: 'REJECTED' })
    await lane.settle(Promise.all(rest))
    await lane.settle(lane.sender.drain())
    expect(lane.executed().filter((name) => typeof name === 'number')).toEqual([2, 3])
  })

  test('a reorg takes it back, and it lands again with the nonces of its tuples', async () => {
    await using lane = await open({ lossDepth: 8 })
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    await lane.settle(tx.wait('sealed'))
    await lane.blocks(1)
    lane.chain.reorg({ depth: 3, inclusion: 0 })
    await lane.settle(lane.sender.send(transfer(2)))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2])
    expect(nonceOnChain(lane)).toBe(3)
    expect(lane.events('foreign')).toEqual([])
    expect((await lane.snapshot()).holds).toEqual([])
  })

  test('it replaces only what nothing stands above', async () => {
    await using lane = await open()
    lane.script = swallow(1, 2, 3)
    const txs = await lane.settle(Promise.all([1, 2].map((marker) => lane.sender.send(transfer(marker)))))
    const refused = lane.rejection(txs[0]?.replace(authorizing(4)) as Promise<unknown>)
    expect(await refused).toMatchObject({ code: 'UNSUPPORTED', fate: 'notExecuted' })
    lane.script = undefined
    const top = await lane.settle(txs[1]?.replace(authorizing(5)) as Promise<{ nonce: number | undefined }>)
    expect(top.nonce).toBe(1)
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 5])
    expect(nonceOnChain(lane)).toBe(3)
  })

  test('replaced by another one, the nonces of either are kept', async () => {
    await using lane = await open()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    lane.script = undefined
    const other = await lane.settle(tx.replace(authorizing(2, [own, own])))
    const next = await lane.settle(lane.sender.send(transfer(3)))
    await lane.settle(lane.sender.drain())
    expect([other.nonce, next.nonce]).toEqual([0, 3])
    expect(lane.executed()).toEqual([2, 3])
  })
})

describe('a lane that changes hands', () => {
  const LEASE_MS = 10_000

  test('whoever takes it over goes on with the bytes, and keeps the nonces of the tuples', async () => {
    await using world = await openProcesses({ chain: { rules: 'reth' } })
    const { lane } = world
    const [first, second] = await world.pair()
    lane.script = swallow(1)
    const tx = await lane.settle(first.sender.send(authorizing(1)))
    const next = await lane.settle(second.sender.send(transfer(2), { until: 'queued' }))
    first.freeze()
    await lane.clock.advance(LEASE_MS + 5_000)
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({
      holder: true,
      cursor: 2,
      holds: ['authorizing'],
    })
    lane.script = undefined
    await lane.settle(next.wait())
    expect(next.nonce).toBe(2)
    expect(second.events('foreign')).toEqual([])
    const carriers = lane.sent.filter(({ authorizations }) => authorizations > 0)
    expect(new Set(carriers.map(({ nonce }) => nonce))).toEqual(new Set([0]))
    first.thaw()
    await lane.settle(tx.wait())
    expect(lane.executed()).toEqual([1, 2])
  })

  test('a guest sends them as well: the holder signs for the account, the guest for others', async () => {
    await using world = await openProcesses({ chain: { rules: 'reth' } })
    const { lane } = world
    const [, guest] = await world.pair()
    const both = [own, { contractAddress: DELEGATE, account: OTHER }]
    const tx = await lane.settle(guest.sender.send(authorizing(1, both)))
    await lane.settle(tx.wait())
    expect(lane.sent[0]).toMatchObject({ type: 'eip7702', authorizations: 1 })
    const stored = await world.shared.find(
      { chainId: 8453, genesisHash: lane.chain.canonical[0]?.hash as Hex, address: ACCOUNT },
      { id: tx.id },
    )
    expect(stored?.request.authorize).toEqual([
      own,
      {
        contractAddress: DELEGATE,
        account: { address: OTHER.address },
        signed: expect.objectContaining({ address: DELEGATE, chainId: 8453, nonce: 0 }),
      },
    ])
    expect(JSON.stringify(stored?.request, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).not.toContain(
      '11'.repeat(32),
    )
  })

  test('what waited at a restart still has the tuples that others signed', async () => {
    await using world = await openProcesses({ chain: { rules: 'reth' } })
    const { lane } = world
    const first = world.start()
    await lane.settle(first.sender.ready())
    first.sender.pause()
    const request = authorizing(1, [{ contractAddress: DELEGATE, account: OTHER }, own])
    await lane.settle(first.sender.send(request, { id: 'a', until: 'queued' }))
    await lane.settle(first.sender.close())
    const second = world.start()
    await lane.settle(second.sender.ready())
    const tx = await lane.settle(second.sender.get('a'))
    await lane.settle(tx?.wait() as Promise<unknown>)
    expect(lane.sent[0]).toMatchObject({ nonce: 0, authorizations: 1 })
    await lane.settle(second.sender.drain())
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({ floor: 2, cursor: 2 })
  })
})

describe('gas', () => {
  test('is estimated with the delegated code in place, and each tuple paid for', async () => {
    await using lane = await open()
    const { gas: _, ...request } = authorizing(1, [own, { contractAddress: zeroAddress }]) as TxRequest & {
      gas: bigint
    }
    await lane.settle(lane.sender.send(request as TxRequest))
    const asked = lane.requests.flat().find(({ method }) => method === 'eth_estimateGas')
    expect(asked?.params[0]).not.toHaveProperty('authorizationList')
    expect(asked?.params[2]).toEqual({ [ACCOUNT]: { code: '0x' } })
    expect(lane.sent[0]?.gas).toBe(21_000 + 2 * 25_000)
    await lane.settle(lane.sender.drain())
  })
})

describe('an account whose code changes', () => {
  test('delegating itself narrows the window, and ending it gives the window back', async () => {
    await using lane = await open()
    await lane.settle(lane.sender.send(authorizing(1)))
    await lane.settle(lane.sender.drain())
    await lane.blocks(1)
    expect(await lane.snapshot()).toMatchObject({ window: 1, account: { kind: 'delegated' } })
    const some = await lane.settle(
      Promise.all([2, 3, 4].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))),
    )
    await lane.settle(lane.sender.drain())
    expect(some.map(({ nonce }) => nonce)).toEqual([2, 3, 4])
    await lane.settle(lane.sender.send(authorizing(5, [{ contractAddress: zeroAddress }])))
    await lane.settle(lane.sender.drain())
    await lane.blocks(1)
    expect(await lane.snapshot()).toMatchObject({ account: { kind: 'plain' } })
    expect((await lane.snapshot()).window).toBeGreaterThan(1)
    expect(lane.events('stuck')).toEqual([])
  })

  test('limits.delegatedMax says how many at once', async () => {
    await using lane = await open({ code: `0xef0100${DELEGATE.slice(2)}`, limits: { delegatedMax: 4 } })
    expect(await lane.snapshot()).toMatchObject({ window: 4 })
    await lane.settle(
      Promise.all([1, 2, 3, 4, 5].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))),
    )
    await lane.until(() => lane.sent.length > 0)
    await lane.clock.advance(500)
    expect(sentNonces(lane)).toEqual([0, 1, 2, 3])
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
  })

  test('a node’s word on delegated accounts has the code read again, and uses up no nonce', async () => {
    await using lane = await open()
    lane.chain.adjust({ address: ACCOUNT, code: `0xef0100${DELEGATE.slice(2)}` })
    await lane.blocks(1)
    expect(await lane.snapshot()).toMatchObject({ account: { kind: 'plain' } })
    const all = [1, 2, 3, 4, 5, 6].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
    await lane.settle(Promise.all(all))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5, 6])
    expect(await lane.snapshot()).toMatchObject({ window: 1, account: { kind: 'delegated' } })
  })
})

describe.each(['reth', 'geth', 'base'] as const)('a delegated account under the rules of %s', (rules) => {
  test('one of it lands in each block: none is refused, and nothing waits longer', async () => {
    await using lane = await openLane({ code: `0xef0100${DELEGATE.slice(2)}`, chain: { rules } })
    const before = lane.chain.head.number
    const all = [1, 2, 3, 4, 5, 6].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
    await lane.settle(Promise.all(all))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5, 6])
    expect(lane.sent).toHaveLength(6)
    expect(lane.chain.head.number - before).toBeLessThanOrEqual(8)
  })
})

describe('what cannot work is refused at once', () => {
  const bad: [string, Partial<Record<string, unknown>>, string][] = [
    ['no list', { authorize: {} }, 'request.authorize'],
    ['an empty list', { authorize: [] }, 'request.authorize'],
    ['no address', { authorize: [{ contractAddress: '0x12' }] }, 'request.authorize[0].contractAddress'],
    ['an account that cannot sign', { authorize: [{ ...own, account: { address: DELEGATE } }] }, 'account'],
    ['an address for an account', { authorize: [{ ...own, account: DELEGATE }] }, 'account'],
    ['no recipient', { authorize: [own], to: null, data: '0x00' }, 'request.to'],
    ['a gas price', { authorize: [own], gasPrice: 1n }, 'request.gasPrice'],
    ['another type', { authorize: [own], type: 'eip1559' }, 'request.type'],
  ]
  test.each(bad)('%s', async (_, fields, argument) => {
    await using lane = await open()
    const error = await lane.rejection(lane.sender.send({ ...transfer(1), ...fields } as TxRequest))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(error.message).toContain(argument)
    expect(lane.sent).toEqual([])
  })
})

describe('an authorization of another account', () => {
  const sponsored = (marker: number, account: LocalAccount = OTHER) =>
    authorizing(marker, [{ contractAddress: DELEGATE, account }])

  test('goes along with an ordinary transaction: nothing waits for it', async () => {
    await using lane = await open()
    const requests = [transfer(1), sponsored(2), transfer(3)]
    await lane.settle(Promise.all(requests.map((request) => lane.sender.send(request))))
    expect(sentNonces(lane)).toEqual([0, 1, 2])
    await lane.settle(lane.sender.drain())
    expect(lane.events('held')).toEqual([])
  })

  test('has the nonce that the account has at pending', async () => {
    await using lane = await open()
    let asked: unknown
    const account = { ...OTHER, signAuthorization: (one: unknown) => OTHER.signAuthorization((asked = one) as never) }
    lane.script = ({ method, params }) =>
      method === 'eth_getTransactionCount' && params[0] === OTHER.address.toLowerCase()
        ? { ok: true, result: params[1] === 'pending' ? '0x7' : '0x0' }
        : undefined
    await lane.settle(lane.sender.send(sponsored(1, account as LocalAccount)))
    expect(asked).toEqual({ contractAddress: DELEGATE, chainId: 8453, nonce: 7 })
    await lane.settle(lane.sender.drain())
  })

  test('a second one while the first is under way is refused, and taken after it', async () => {
    await using lane = await open()
    lane.script = swallow(1)
    const first = await lane.settle(lane.sender.send(sponsored(1)))
    const error = await lane.rejection(lane.sender.send(sponsored(2)))
    expect(error).toMatchObject({ code: 'UNSUPPORTED', fate: 'notExecuted' })
    expect(error.message).toContain(OTHER.address.toLowerCase())
    lane.script = undefined
    await lane.settle(first.wait('sealed'))
    await lane.settle(lane.sender.send(sponsored(3)))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 3])
  })

  test('two sends in one turn: the second is refused', async () => {
    await using lane = await open()
    const all = await lane.settle(
      Promise.allSettled([1, 2].map((marker) => lane.sender.send(sponsored(marker)))),
    )
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await lane.settle(lane.sender.drain())
  })

  test('the same id is the same transaction, and another delegation is another request', async () => {
    await using lane = await open()
    const first = await lane.settle(lane.sender.send(sponsored(1), { id: 'a' }))
    expect(await lane.settle(lane.sender.send(sponsored(1), { id: 'a' }))).toBe(first)
    const error = await lane.rejection(lane.sender.send(authorizing(1), { id: 'a' }))
    expect(error.code).toBe('ID_CONFLICT')
    await lane.settle(lane.sender.drain())
  })

  test('one that signs with another key is refused before anything is sent', async () => {
    await using lane = await open()
    const liar = { ...OTHER, address: `0x${'22'.repeat(20)}` } as LocalAccount
    const error = await lane.rejection(lane.sender.send(sponsored(1, liar)))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(lane.sent).toEqual([])
  })

  test('a node that does not tell its nonce: refused, nothing is queued', async () => {
    await using lane = await open()
    lane.script = ({ method, params }) =>
      method === 'eth_getTransactionCount' && params[0] === OTHER.address.toLowerCase()
        ? refuses('try again')
        : undefined
    expect(await lane.rejection(lane.sender.send(sponsored(1)))).toMatchObject({
      code: 'REJECTED',
      fate: 'notExecuted',
    })
    expect((await lane.snapshot()).queued).toBe(0)
  })
})
