import { describe, expect, test } from 'vitest'
import { openPools } from '../api/pool/poolRelief.fixture.js'
import { createSenderIn } from '../api/sender/sender.js'
import { openLane, transfer } from '../api/sender/simLane.fixture.js'
import type { Sender, TxRequest } from '../types/index.js'
import { ownOptions, ownRequest } from './own.js'

/** One object for all calls, which each call changes. */
function reusing(
  send: (request: TxRequest, marker: number) => Promise<unknown>,
): readonly Promise<unknown>[] {
  const request = { ...transfer(0) } as TxRequest
  return [1, 2, 3].map((marker) => send(Object.assign(request, transfer(marker)), marker))
}

describe('P1: the transaction is the request as it was at the moment of the call', () => {
  test('the caller fills one object again for each call', async () => {
    await using lane = await openLane()
    await lane.settle(Promise.all(reusing((request) => lane.sender.send(request))))
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('before the lane is open', async () => {
    await using lane = await openLane()
    const other = createSenderIn(lane.environment, lane.parameters)
    await lane.settle(Promise.all(reusing((request) => other.send(request))))
    await lane.settle(other.drain())
    expect(lane.executed()).toEqual([1, 2, 3])
    await lane.settle(other.close())
  })

  test('its options, and the options of sendMany, are copied', async () => {
    await using lane = await openLane()
    const item = { id: '', request: { ...transfer(0) } as TxRequest }
    function* items() {
      for (const marker of [1, 2, 3]) {
        Object.assign(item.request, transfer(marker))
        item.id = `payout-${marker}`
        yield item
      }
    }
    const ids: string[] = []
    const all = async () => {
      for await (const { id } of lane.sender.sendMany(items())) ids.push(id)
    }
    await lane.settle(all())
    await lane.settle(lane.sender.drain())
    expect(ids.sort()).toEqual(['payout-1', 'payout-2', 'payout-3'])
    expect(lane.executed()).toEqual([1, 2, 3])
  })

  test('a sequence', async () => {
    await using lane = await openLane()
    const requests = [1, 2].map((marker) => ({ ...transfer(marker) }) as TxRequest)
    const sending = lane.sender.sendSequence(requests)
    for (const request of requests) Object.assign(request, transfer(9))
    await lane.settle(sending)
    await lane.settle(lane.sender.drain())
    expect(lane.executed()).toEqual([1, 2])
  })

  test('a replacement', async () => {
    await using lane = await openLane()
    const tx = await lane.settle(lane.sender.send(transfer(1)))
    const request = { ...transfer(2) } as TxRequest
    const replacing = tx.replace(request)
    Object.assign(request, transfer(9))
    await lane.settle((await lane.settle(replacing)).wait('sealed'))
    expect(lane.executed()).not.toContain(9)
  })

  test('through a pool', async () => {
    await using pools = await openPools([10n ** 18n, 10n ** 18n])
    const { lane, pool } = pools
    await lane.settle(
      Promise.all(
        reusing((request, marker) => (pool as Pick<Sender, 'send'>).send(request, { id: `${marker}` })),
      ),
    )
    await lane.settle(pool.drain())
    expect(
      pools
        .executed()
        .map((name) => name.split('@')[0])
        .sort(),
    ).toEqual(['1', '2', '3'])
  })
})

describe('ownRequest', () => {
  test('copies nested objects, and leaves accounts, chains and objects that are not plain', () => {
    const account = { address: '0x00000000000000000000000000000000000000aa', sign: () => 1 }
    const bytes = new Uint8Array([1])
    const request = {
      to: account.address,
      accessList: [{ address: account.address, storageKeys: ['0x1'] }],
      authorize: [{ contractAddress: account.address, account }],
      account,
      bytes,
    }
    const own = ownRequest(request as unknown as TxRequest) as unknown as typeof request
    expect(own).toEqual(request)
    expect(own.accessList[0]?.storageKeys).not.toBe(request.accessList[0]?.storageKeys)
    expect(own.authorize[0]).not.toBe(request.authorize[0])
    expect([own.account, own.authorize[0]?.account, own.bytes]).toEqual([account, account, bytes])
    expect(own.authorize[0]?.account).toBe(account)
    expect(own.account).toBe(account)
    expect(own.bytes).toBe(bytes)
  })

  test('ends at a value that contains itself', () => {
    const request: Record<string, unknown> = { ...transfer(1) }
    request.extra = { request, more: [request] }
    expect(ownRequest(request as TxRequest)).toMatchObject(transfer(1))
  })

  test('options keep their signal and the transactions that they name', () => {
    const { signal } = new AbortController()
    const after = ['a']
    const own = ownOptions({ signal, after, expires: { atMs: 1 } })
    expect(own.signal).toBe(signal)
    expect(own.after).toEqual(after)
    expect(own.after).not.toBe(after)
  })
})
