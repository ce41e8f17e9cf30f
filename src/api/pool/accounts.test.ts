import type { Address } from 'viem'
import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../store/memory.js'
import type { SendOptions, Tx, TxRequest } from '../../types/index.js'
import { onSend, swallows } from '../sender/simLane.fixture.js'
import { nearestTo } from './members.js'
import { KEYS, ONE_ETHER, openPools, type Pools, transfer } from './poolRelief.fixture.js'

const markers = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)

/** Sends in one turn, and resolves once the store has the transactions. */
function queue(
  { lane, pool }: Pools,
  from: number,
  count: number,
  request: object = {},
  options: SendOptions = {},
): Promise<Tx[]> {
  const send = (marker: number) =>
    pool.send({ ...transfer(marker), ...request } as TxRequest, {
      until: 'queued',
      id: `tx-${marker}`,
      ...options,
    })
  return lane.settle(Promise.all(markers(from, count).map(send)))
}

const sealed = ({ lane }: Pools, sent: readonly Tx[]) =>
  lane.settle(Promise.all(sent.map((tx) => tx.wait('sealed'))))

/** The number of executed transactions by key. */
function executedBy({ executed }: Pools): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of executed()) {
    const key = name.split('@')[1] as string
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

/** An affinity that goes to this key in a pool of the first two keys. */
function wordFor(address: Address): string {
  const words = markers(0, 100).map((marker) => `word ${marker}`)
  return words.find((word) => nearestTo(word, [FIRST, SECOND]) === address) as string
}

const [FIRST, SECOND, THIRD] = KEYS as [Address, Address, Address]

describe('an account that a pool retires', () => {
  test('gets no new transactions, finishes, and then leaves the pool', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const sent = await queue(pools, 0, 10)
    const retirement = lane.settle(pool.retire(FIRST))
    const later = await queue(pools, 100, 10)
    await retirement
    expect(pool.senders.map(({ address }) => address)).toEqual([SECOND])
    expect(pool.address).toBe(SECOND)
    await sealed(pools, [...sent, ...later])
    const late = pools.executed().filter((name) => name.startsWith('1') && name.split('@')[0]!.length === 3)
    expect(late).toHaveLength(10)
    expect(late.every((name) => name.endsWith('@1'))).toBe(true)
    expect(pools.executed()).toHaveLength(20)
  })

  test('moves its waiting transactions without a nonce to the other accounts', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    pool.pause()
    const sent = await queue(pools, 0, 30)
    pool.resume(SECOND)
    pool.resume(THIRD)
    await lane.settle(pool.retire(FIRST))
    await sealed(pools, sent)
    expect(executedBy(pools)).toEqual({ 1: 15, 2: 15 })
  })

  test('moves them at once, while the first of its own is still missing', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER], { limits: { window: 1 } })
    const { lane, pool } = pools
    const stuck: TxRequest = Object.assign(transfer(0), { account: FIRST })
    lane.script = onSend((tx) => (tx.from === FIRST ? swallows(tx) : undefined))
    const head = await lane.settle(pool.send(stuck))
    const affinity = wordFor(FIRST)
    const waiting = await queue(pools, 10, 6, {}, { affinity })
    const retirement = lane.settle(pool.retire(FIRST))
    // The first of them has a nonce above the missing one.
    await sealed(pools, waiting.slice(1))
    expect(executedBy(pools)).toEqual({ 1: 5 })
    expect(pool.senders).toHaveLength(2)
    lane.script = undefined
    await retirement
    expect(head.stage).toBe('sealed')
    expect(pool.senders).toHaveLength(1)
  })

  test('finishes the transactions that named it', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const bound = await queue(pools, 0, 5, { account: FIRST })
    await lane.settle(pool.retire(FIRST))
    expect(bound.map(({ stage }) => stage)).toEqual(bound.map(() => 'sealed'))
    expect(executedBy(pools)).toEqual({ 0: 5 })
  })

  test('refuses requests that name it from then on, at once', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const named: TxRequest = Object.assign(transfer(1), { account: FIRST })
    const retirement = lane.settle(pool.retire(FIRST))
    const refusal = await lane.rejection(pool.send(named))
    expect(refusal).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(String(refusal)).toContain('request.account')
    await retirement
    expect(await lane.rejection(pool.send(named))).toMatchObject({ code: 'INVALID' })
    expect(() => pool.pause(FIRST)).toThrow(expect.objectContaining({ code: 'INVALID' }))
    expect(pools.executed()).toEqual([])
  })

  test('returns a transaction that named it by its id, and sends it once', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const sent = await queue(pools, 0, 3, { account: FIRST })
    await lane.settle(pool.retire(FIRST))
    const again = await queue(pools, 0, 3, { account: FIRST })
    expect(again.map(({ id, stage }) => [id, stage])).toEqual(sent.map(({ id }) => [id, 'sealed']))
    expect(pools.executed()).toHaveLength(3)
  })

  test('its transactions are found by their ids and not sent again', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const sent = await queue(pools, 0, 8)
    await sealed(pools, sent)
    await lane.settle(pool.retire(FIRST))
    const found = await lane.settle(Promise.all(sent.map(({ id }) => pool.get(id))))
    expect(found.map((tx) => tx?.stage)).toEqual(sent.map(() => 'sealed'))
    await queue(pools, 0, 8)
    await lane.settle(pool.drain())
    expect(pools.executed()).toHaveLength(8)
  })

  test('waits for lost bytes with its nonces, and for sends that are entering its lane', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    const lost = new Set<string>()
    lane.script = onSend((tx) => {
      if (tx.from !== FIRST || lost.size > 0) return undefined
      lost.add(tx.hash)
      return swallows(tx)
    })
    const sent = await queue(pools, 0, 6)
    await lane.settle(Promise.all(sent.map(({ id }, index) => pool.send(transfer(index), { id }))))
    // These sends are entering the pool when the account is retired.
    const late = queue(pools, 10, 2)
    await lane.settle(pool.retire(FIRST))
    await sealed(pools, [...sent, ...(await late)])
    expect(lost.size).toBe(1)
    expect(pools.executed()).toHaveLength(8)
    expect(pool.senders).toHaveLength(1)
  })

  test.each(markers(0, 12))('loses no transaction that was sent %i turns before', async (turns) => {
    for (const isOpen of [true, false]) {
      await using pools = await openPools([ONE_ETHER, ONE_ETHER])
      const { lane, pool } = pools
      if (isOpen) await lane.settle(pool.ready())
      const affinity = wordFor(FIRST)
      const sent = [pool.send(transfer(1), { affinity }), pool.send(transfer(2), { affinity, id: 'known' })]
      for (let turn = 0; turn < turns; turn++) await undefined
      const retirement = lane.settle(pool.retire(FIRST))
      await sealed(pools, await lane.settle(Promise.all(sent)))
      await retirement
      expect(pools.executed()).toHaveLength(2)
    }
  })

  test('is never the last account, nor an account that the pool does not have', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const retirement = lane.settle(pool.retire(FIRST))
    for (const address of [SECOND, THIRD])
      expect(await lane.rejection(pool.retire(address))).toMatchObject({ code: 'INVALID' })
    await retirement
    expect(await lane.rejection(pool.retire(SECOND))).toMatchObject({ code: 'INVALID' })
    expect(await lane.rejection(pool.retire(FIRST))).toMatchObject({ code: 'INVALID' })
    await sealed(pools, await queue(pools, 0, 1))
  })

  test('is retired once for all callers, also if one caller stops waiting', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    const sent = await queue(pools, 0, 10)
    const aborter = new AbortController()
    const waits = [pool.retire(FIRST), pool.retire(FIRST, { signal: aborter.signal })]
    const aborted = lane.rejection(waits[1] as Promise<void>)
    aborter.abort()
    expect(await aborted).toMatchObject({ code: 'ABORTED', fate: 'inFlight' })
    await lane.settle(waits[0] as Promise<void>)
    await sealed(pools, sent)
    expect(pool.senders).toHaveLength(1)
  })

  test('keeps its transactions in the store if the process ends early, and the next process finishes them', async () => {
    const store = { ...memoryStore({ now: () => 0 }), durable: true }
    await using pools = await openPools([ONE_ETHER, ONE_ETHER], { store })
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    pool.pause()
    const sent = await queue(pools, 0, 10)
    const retirement = lane.rejection(pool.retire(FIRST))
    await lane.settle(pool.close())
    expect(await retirement).toMatchObject({ code: 'CLOSED' })
    const next = pools.another()
    await lane.settle(next.retire(FIRST))
    const ends = await lane.settle(Promise.all(sent.map(({ id }) => next.get(id))))
    await lane.settle(Promise.all(ends.map((tx) => (tx as Tx).wait('sealed'))))
    expect(pools.executed()).toHaveLength(10)
  })
})

describe('an account that is added to a pool', () => {
  test('takes its share of new transactions and of transactions that wait for money', async () => {
    await using pools = await openPools([0n, 0n, ONE_ETHER], {}, 2)
    const { pool } = pools
    const waiting = await queue(pools, 0, 6)
    const added = pool.add(pools.account(2))
    expect(pool.senders.map(({ address }) => address)).toEqual(KEYS)
    expect(added.address).toBe(THIRD)
    await sealed(pools, waiting)
    expect(executedBy(pools)).toEqual({ 2: 6 })
  })

  test('emits its events to the listeners of the pool until they are removed', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], {}, 2)
    const { lane, pool } = pools
    const heard: string[] = []
    const off = pool.on('signed', ({ tx }) => void heard.push(tx.id))
    const added = pool.add(pools.account(2))
    await lane.settle(added.send(transfer(1)))
    expect(heard.length).toBeGreaterThan(0)
    off()
    const before = heard.length
    await lane.settle(added.send(transfer(2)))
    expect(heard).toHaveLength(before)
  })

  test('starts paused if all accounts are paused, and takes transactions after resume', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], {}, 2)
    const { pool } = pools
    pool.pause()
    pool.add(pools.account(2))
    const sent = await queue(pools, 0, 6)
    expect(pools.executed()).toEqual([])
    pool.resume()
    await sealed(pools, sent)
    expect(executedBy(pools)).toEqual({ 0: 2, 1: 2, 2: 2 })
  })

  test('is refused if the pool has it already, cannot use it, or is closed', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], {}, 2)
    const { lane, pool } = pools
    const upper = { ...pools.account(0), address: FIRST.toUpperCase().replace('0X', '0x') as Address }
    for (const account of [pools.account(0), upper, { address: THIRD } as never])
      expect(() => pool.add(account)).toThrow(expect.objectContaining({ code: 'INVALID' }))
    await lane.settle(pool.close())
    expect(() => pool.add(pools.account(2))).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  })

  test('may be an account that was retired before', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    await sealed(pools, await queue(pools, 0, 2))
    await lane.settle(pool.retire(FIRST))
    pool.add(pools.account(0))
    await sealed(pools, await queue(pools, 10, 2))
    expect(executedBy(pools)).toEqual({ 0: 2, 1: 2 })
  })
})

describe('an account of a pool that is paused alone', () => {
  test('sends nothing until resume, and its unbound transactions move to other accounts', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    pool.pause()
    const [bound] = await queue(pools, 0, 1, { account: FIRST })
    const sent = await queue(pools, 10, 10)
    pool.resume(SECOND)
    await sealed(pools, sent)
    expect(executedBy(pools)).toEqual({ 1: 10 })
    expect(bound?.stage).toBe('queued')
    pool.resume(FIRST)
    await sealed(pools, [bound as Tx])
    expect(executedBy(pools)).toEqual({ 0: 1, 1: 10 })
  })

  test('must be an account that the pool has', async () => {
    await using pools = await openPools([ONE_ETHER, ONE_ETHER])
    expect(() => pools.pool.pause(THIRD)).toThrow(expect.objectContaining({ code: 'INVALID' }))
    expect(() => pools.pool.resume(THIRD)).toThrow(expect.objectContaining({ code: 'INVALID' }))
  })
})
