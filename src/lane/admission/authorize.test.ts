import { zeroAddress } from 'viem'
import { describe, expect, test } from 'vitest'
import { createNonceAllocatorIn } from '../../api/allocators/allocator.js'
import {
  ACCOUNT,
  onSend,
  refuses,
  type SimLane,
  swallow,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { TxRequest } from '../../types/index.js'
import { authorizing, DESIGNATOR, open, own } from './authorize.fixture.js'

const nonceOnChain = (lane: SimLane) => lane.chain.nextNonce(ACCOUNT)

const sentNonces = (lane: SimLane) => lane.sent.map(({ nonce }) => nonce)

describe('a transaction that authorizes for its own account', () => {
  test('its tuples take the nonces after it, and the next transaction gets the nonce after those', async () => {
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

  test('the nonces used by its tuples are neither foreign nor a gap', async () => {
    await using lane = await open()
    await lane.settle(lane.sender.send(authorizing(1)))
    await lane.settle(lane.sender.drain())
    for (const event of ['foreign', 'gap', 'unresolved'] as const) expect(lane.events(event)).toEqual([])
    expect(await lane.snapshot()).toMatchObject({ floor: 2, cursor: 2, holes: [], holds: [] })
  })

  test('it waits until all lower nonces are used, and no higher nonce is reserved until it is sealed', async () => {
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

  test('the allocator hands out no nonce above it either', async () => {
    await using lane = await open()
    lane.script = swallow(1)
    await lane.settle(lane.sender.send(authorizing(1)))
    expect(await lane.snapshot()).toMatchObject({ floor: 0, cursor: 2, holds: ['authorizing'] })
    const { client, store } = lane.parameters
    const allocator = createNonceAllocatorIn(lane.environment, { client, store, address: ACCOUNT } as never)
    const reserving = allocator.reserve()
    await lane.clock.advance(1_000)
    expect(await lane.snapshot()).toMatchObject({ cursor: 2 })
    lane.script = undefined
    const reservation = await lane.settle(reserving)
    expect(reservation.nonce).toBe(2)
    await lane.settle(reservation.release())
    await lane.settle(allocator.close())
  })

  test('a bump keeps its tuples unchanged', async () => {
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

  test('after a displacement it is signed again for its next nonce, including its tuples', async () => {
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

  test('after a cancellation the next transaction gets the nonces that were reserved for its tuples', async () => {
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

  test('a removal before it was journaled leaves no reserved nonce behind', async () => {
    await using lane = await open({ signMs: () => 1_000 })
    const tx = await lane.settle(lane.sender.send(authorizing(1), { until: 'queued' }))
    await lane.until(() => tx.nonce === 0)
    expect(await lane.settle(tx.cancel())).toEqual({ result: 'removed' })
    expect(await lane.snapshot()).toMatchObject({ floor: 0, cursor: 0, holds: [] })
  })

  test('a tuple that a stranger submits after the cancellation is foreign, and all own transactions land once', async () => {
    await using lane = await open()
    lane.script = swallow(1)
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    lane.script = undefined
    await lane.settle(tx.cancel())
    const txs = await lane.settle(Promise.all([2, 3].map((marker) => lane.sender.send(transfer(marker)))))
    lane.chain.adjust({ address: ACCOUNT, nonces: 1, code: DESIGNATOR })
    await lane.settle(lane.sender.drain())
    // The displaced transaction lands after the other one.
    expect(new Set(lane.executed().filter((name) => typeof name === 'number'))).toEqual(new Set([2, 3]))
    expect(lane.events('foreign').length).toBeGreaterThan(0)
    expect(await lane.snapshot()).toMatchObject({ holes: [], holds: [], account: { kind: 'delegated' } })
    expect(txs.every((one) => one.stage === 'sealed')).toBe(true)
  })

  test('nonces that are still unused one block later are released', async () => {
    await using lane = await open()
    const { signAuthorization } = lane.account
    // The account returns a wrong signature with correct fields, so the chain skips the tuple.
    Object.assign(lane.account, {
      signAuthorization: async (asked: Parameters<NonNullable<typeof signAuthorization>>[0]) => ({
        ...(await signAuthorization?.(asked)),
        r: `0x${'ab'.repeat(32)}`,
      }),
    })
    const tx = await lane.settle(lane.sender.send(authorizing(1)))
    await lane.settle(tx.wait('sealed'))
    await lane.blocks(2)
    expect(await lane.snapshot()).toMatchObject({ floor: 1, cursor: 1, holes: [], holds: [] })
    const next = await lane.settle(lane.sender.send(transfer(2)))
    await lane.settle(lane.sender.drain())
    expect([tx.nonce, next.nonce]).toEqual([0, 1])
    expect(await lane.snapshot()).toMatchObject({ floor: 2, cursor: 2, holes: [], holds: [] })
  })

  test('a permanent refusal frees its nonce and the nonces of its tuples', async () => {
    await using lane = await open()
    lane.script = onSend(({ authorizations }) =>
      authorizations > 0 ? refuses('invalid transaction v, r, s values') : undefined,
    )
    const error = await lane.rejection(lane.sender.send(authorizing(1)))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(await lane.snapshot()).toMatchObject({ floor: 0, cursor: 0, holes: [], holds: [] })
  })

  test('a no-op fills a gap below it, so that it does not wait for ever', async () => {
    await using lane = await open()
    lane.script = onSend(({ gas }) =>
      gas === 21_001 ? refuses('invalid transaction v, r, s values') : undefined,
    )
    const doomed = lane.sender.send({ ...transfer(1), gas: 21_001n } as TxRequest)
    const rest = [transfer(2), authorizing(3)].map((request) =>
      lane.sender.send(request, { until: 'queued' }),
    )
    expect(await lane.rejection(doomed)).toMatchObject({ code: 'REJECTED' })
    await lane.settle(Promise.all(rest))
    await lane.settle(lane.sender.drain())
    expect(lane.executed().filter((name) => typeof name === 'number')).toEqual([2, 3])
  })

  test('after a reorg it lands again, with the nonces of its tuples', async () => {
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

  test('it may replace only the transaction at the highest nonce', async () => {
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

  test('a replacement reserves the nonces for the tuples of both transactions', async () => {
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

describe('gas', () => {
  test('is estimated with the delegated code in place, plus the cost of each tuple', async () => {
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
