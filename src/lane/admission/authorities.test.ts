import type { LocalAccount } from 'viem'
import { describe, expect, test } from 'vitest'
import { nameOf, onSend, refuses, type SimLane, swallow, transfer } from '../../api/sender/simLane.fixture.js'
import type { TxRequest } from '../../types/index.js'
import { authorizing, DELEGATE, OTHER, open, own } from './authorize.fixture.js'

const sentNonces = (lane: SimLane) => lane.sent.map(({ nonce }) => nonce)

describe('an authorization that cannot work is refused at once', () => {
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

  test('is sent like an ordinary transaction: no other transaction waits for it', async () => {
    await using lane = await open()
    const requests = [transfer(1), sponsored(2), transfer(3)]
    await lane.settle(Promise.all(requests.map((request) => lane.sender.send(request))))
    expect(sentNonces(lane)).toEqual([0, 1, 2])
    await lane.settle(lane.sender.drain())
    expect(lane.events('held')).toEqual([])
  })

  test('uses the pending nonce of the authority', async () => {
    await using lane = await open()
    const asked: unknown[] = []
    const account = {
      ...OTHER,
      signAuthorization(one: never) {
        asked.push(one)
        return OTHER.signAuthorization(one)
      },
    }
    lane.script = ({ method, params }) =>
      method === 'eth_getTransactionCount' && params[0] === OTHER.address.toLowerCase()
        ? { ok: true, result: params[1] === 'pending' ? '0x7' : '0x0' }
        : undefined
    await lane.settle(lane.sender.send(sponsored(1, account as LocalAccount)))
    expect(asked).toEqual([{ contractAddress: DELEGATE, chainId: 8453, nonce: 7 }])
    await lane.settle(lane.sender.drain())
  })

  test('is rejected while its account has an open lane in this process', async () => {
    await using lane = await open()
    const { lanes } = lane.environment.shared
    const name = `8453:${lane.chain.canonical[0]?.hash}:${OTHER.address.toLowerCase()}@store`
    lanes.set(name, {})
    const error = await lane.rejection(lane.sender.send(sponsored(1)))
    expect(error).toMatchObject({ code: 'UNSUPPORTED', fate: 'notExecuted' })
    lanes.delete(name)
    await lane.settle(lane.sender.send(sponsored(2)))
    await lane.settle(lane.sender.drain())
  })

  test('a second authorization is rejected while the first is under way, and accepted afterwards', async () => {
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

  test('of two sends in one event-loop turn the second is rejected', async () => {
    await using lane = await open()
    const all = await lane.settle(
      Promise.allSettled([1, 2].map((marker) => lane.sender.send(sponsored(marker)))),
    )
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await lane.settle(lane.sender.drain())
  })

  test('the same id gets the same transaction, and another delegation is another request', async () => {
    await using lane = await open()
    const first = await lane.settle(lane.sender.send(sponsored(1), { id: 'a' }))
    expect(await lane.settle(lane.sender.send(sponsored(1), { id: 'a' }))).toBe(first)
    const error = await lane.rejection(lane.sender.send(authorizing(1), { id: 'a' }))
    expect(error.code).toBe('ID_CONFLICT')
    await lane.settle(lane.sender.drain())
  })

  test('an account that signs with another key is rejected before anything is sent', async () => {
    await using lane = await open()
    const liar = { ...OTHER, address: `0x${'22'.repeat(20)}` } as LocalAccount
    const error = await lane.rejection(lane.sender.send(sponsored(1, liar)))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(lane.sent).toEqual([])
  })

  test('the send is rejected if the node does not answer with the nonce of the authority', async () => {
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

describe('an authority with other stuck transactions in the pool of the node', () => {
  const RESERVED = 'authority already reserved'
  const delegations = [
    { whose: 'another account', authorize: [{ contractAddress: DELEGATE, account: OTHER }] },
    { whose: 'the account of the lane, above a nonce that a reorg opened', authorize: [own] },
  ]
  test.each(delegations)(
    '$whose: a no-op takes the nonce, the error quotes the node, and the next transaction lands',
    async ({ authorize }) => {
      await using lane = await open()
      lane.script = onSend((tx) => (nameOf(tx) === 1 ? refuses(RESERVED) : undefined))
      const refused = lane.rejection(lane.sender.send(authorizing(1, authorize)))
      const next = lane.sender.send(transfer(2))
      expect(await refused).toMatchObject({
        code: 'REJECTED',
        fate: 'notExecuted',
        details: `sim said: ${RESERVED}`,
      })
      await lane.settle((await lane.settle(next)).wait('sealed'))
      expect(new Set(lane.executed())).toEqual(new Set(['noop', 2]))
    },
  )
})
