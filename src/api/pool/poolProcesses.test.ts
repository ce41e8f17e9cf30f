import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../store/memory.js'
import type { Sender, Tx } from '../../types/index.js'
import type { LaneReport } from '../../types/laneReports.js'
import type { Store } from '../../types/store.js'
import { nearestTo } from './members.js'
import type { SenderPool } from './pool.js'
import { KEYS, ONE_ETHER, openPools, type Pools, TRANSFER_WEI, transfer } from './poolRelief.fixture.js'

const markers = (count: number) => Array.from({ length: count }, (_, index) => index)
const at = (key: number, count: number) => markers(count).map((marker) => `${marker}@${key}`)
const sorted = (names: readonly string[]) => [...names].sort()
/** An affinity that goes to this key in a pool of two keys. */
const wordOf = (key: number) =>
  markers(99)
    .map((index) => `w${index}`)
    .find((word) => nearestTo(word, KEYS.slice(0, 2)) === KEYS[key]) as string

const durable = (over: Partial<Store> = {}): Store => ({
  ...memoryStore({ now: () => 0 }),
  durable: true,
  ...over,
})

/**
 * Two processes with the same two keys. The first process owns the lane of the first key, the second that of the
 * second key.
 */
async function openBoth(balances: readonly [bigint, bigint], store = durable(), starved?: 'fail') {
  const pools = await openPools(balances, { store, ...(starved && { starved }) })
  const { lane, pool } = pools
  const other = pools.another()
  const senders = (of: SenderPool) => of.senders as readonly [Sender, Sender]
  await lane.settle(senders(pool)[0].ready())
  await lane.settle(senders(other)[1].ready())
  await lane.settle(senders(pool)[1].ready())
  await lane.settle(senders(other)[0].ready())
  const holders = await lane.settle(
    Promise.all([pool, other].map((of) => Promise.all(of.senders.map((one) => one.snapshot())))),
  )
  expect(holders.map((of) => of.map(({ holder }) => holder))).toEqual([
    [true, false],
    [false, true],
  ])
  return { pools, other }
}

const sendTo = ({ lane }: Pools, pool: SenderPool, count: number, options = {}, over = {}) =>
  lane.settle(
    Promise.all(
      markers(count).map((marker) =>
        pool.send({ ...transfer(marker), ...over } as never, { until: 'queued', ...options }),
      ),
    ),
  )

const sealed = ({ lane }: Pools, sent: readonly Tx[]) =>
  lane.settle(Promise.all(sent.map((tx) => tx.wait('sealed'))))

describe('a pool in two processes, each of which owns the lane of one of two keys', () => {
  test('transactions that wait at a key without money move to the key of the other process', async () => {
    const { pools, other } = await openBoth([0n, ONE_ETHER])
    await using _ = pools
    const sent = await sendTo(pools, pools.pool, 14, { affinity: wordOf(0) })
    await sealed(pools, sent)
    expect(sorted(pools.executed())).toEqual(sorted(at(1, 14)))
    await pools.lane.settle(Promise.all([pools.pool.drain(), other.drain()]))
  })

  test('transactions that a process sent to a key of the other process move too', async () => {
    const { pools, other } = await openBoth([0n, ONE_ETHER])
    await using _ = pools
    await sealed(pools, await sendTo(pools, other, 14, { affinity: wordOf(0) }))
    expect(sorted(pools.executed())).toEqual(sorted(at(1, 14)))
    await pools.lane.settle(Promise.all([pools.pool.drain(), other.drain()]))
  })

  test('a key that waits for money gets no new transactions from the other process, which sees the hold', async () => {
    const handed: string[] = []
    const store = durable()
    const { pools, other } = await openBoth([0n, ONE_ETHER], {
      ...store,
      async write(lease, change) {
        handed.push(
          ...change.transactions
            .filter(({ lane }) => lane.address !== lease.lane.address)
            .map(({ id }) => id),
        )
        return store.write(lease, change)
      },
    })
    await using _ = pools
    const { lane, pool } = pools
    const named = { account: KEYS[0] }
    const [stuck] = await sendTo(pools, pool, 1, {}, named)
    await lane.blocks(3)
    expect((await lane.settle(other.senders[0]!.snapshot())).holds).toEqual(['starved'])
    const send = (marker: number) => other.send(transfer(100 + marker), { until: 'queued' })
    await sealed(pools, await lane.settle(Promise.all(markers(10).map(send))))
    expect(pools.executed()).toHaveLength(10)
    expect(handed).toEqual([])
    pools.give(0, ONE_ETHER)
    await sealed(pools, [stuck as Tx])
    await lane.blocks(1)
    expect((await lane.settle(other.senders[0]!.snapshot())).holds).toEqual([])
  })

  test('no key gets more than it can pay from any number of processes', async () => {
    const { pools, other } = await openBoth([0n, 610n * TRANSFER_WEI])
    await using _ = pools
    const { lane, pool } = pools
    // The value is certain to leave the balance; the fee may be lower than its maximum.
    const value = 100n * TRANSFER_WEI
    const sent = await sendTo(pools, pool, 12, { affinity: wordOf(0) }, { value })
    await lane.until(() => pools.executed().length === 6)
    await lane.blocks(5)
    expect(pools.executed()).toHaveLength(6)
    pools.give(0, ONE_ETHER)
    await sealed(pools, sent)
    expect(pools.executed().filter((name) => name.endsWith('@0'))).toHaveLength(6)
    await lane.settle(Promise.all([pool.drain(), other.drain()]))
  })

  test("with starved: 'fail' a transaction fails if no process can pay for it, and lands otherwise", async () => {
    const { pools, other } = await openBoth([0n, ONE_ETHER], durable(), 'fail')
    await using _ = pools
    const { lane, pool } = pools
    const affinity = wordOf(0)
    const [tx] = await sendTo(pools, pool, 1, { affinity })
    await sealed(pools, [tx as Tx])
    const dear = pool.send({ ...transfer(7), value: 2n * ONE_ETHER } as never, { affinity })
    expect((await lane.rejection(dear)).code).toBe('STARVED')
    expect(pools.executed()).toEqual(['0@1'])
    await lane.settle(other.drain())
  })

  test('an owner that reports nothing, as in an older version, gets no transactions, and no transaction waits for its report', async () => {
    const silent = durable({ report: async () => {} })
    const { pools, other } = await openBoth([0n, ONE_ETHER], silent, 'fail')
    await using _ = pools
    const { lane, pool } = pools
    const [tx] = await sendTo(pools, pool, 1, { affinity: wordOf(0) })
    expect((await lane.rejection((tx as Tx).wait('sealed'))).code).toBe('STARVED')
    expect(pools.executed()).toEqual([])
    await lane.settle(other.drain())
  })

  test('no transaction is lost if the store cannot write or read reports', async () => {
    const broken = () => Promise.reject(new Error('The disk is full.'))
    const { pools, other } = await openBoth([0n, ONE_ETHER], durable({ report: broken, reports: broken }))
    await using _ = pools
    const [tx] = await sendTo(pools, pools.pool, 1, { affinity: wordOf(0) })
    await pools.lane.blocks(5)
    expect(tx?.stage).toBe('queued')
    pools.give(0, ONE_ETHER)
    await sealed(pools, [tx as Tx])
    expect(pools.executed()).toEqual(['0@0'])
    await pools.lane.settle(other.drain())
  })
})

test('a key whose idle lane no process owns takes transactions that another key cannot pay', async () => {
  await using pools = await openPools([ONE_ETHER, 0n], { store: durable() })
  const { lane, pool } = pools
  await lane.settle(pool.ready())
  const given: unknown[] = []
  pool.on('leaseLost', (lost) => void given.push(lost))
  await lane.clock.advance(60_000)
  const holders = await lane.settle(Promise.all(pool.senders.map((one) => one.snapshot())))
  expect(holders.map(({ holder }) => holder)).toEqual([false, false])
  const sent = await sendTo(pools, pool, 5, { affinity: wordOf(1) })
  await sealed(pools, sent)
  expect(sorted(pools.executed())).toEqual(at(0, 5))
})

test('writes no report without a change, and one report of a change for all lanes', async () => {
  const reported: (readonly LaneReport[])[] = []
  const store = durable()
  const counted: Store = {
    ...store,
    report(reports) {
      reported.push(reports.map(({ report }) => report))
      return store.report(reports)
    },
  }
  await using pools = await openPools([ONE_ETHER, ONE_ETHER], { store: counted })
  const { lane, pool } = pools
  await lane.settle(pool.ready())
  await lane.clock.advance(2_000)
  expect(reported).toHaveLength(1)
  expect(reported[0]?.map(({ holds, load }) => [holds, load])).toEqual([
    [[], 0],
    [[], 0],
  ])
  pool.pause()
  await lane.clock.advance(2_000)
  expect(reported.slice(1)).toEqual([
    [expect.objectContaining({ holds: ['paused'] }), expect.objectContaining({ holds: ['paused'] })],
  ])
})

test.each([
  ['with an id', 'one read', (index: number) => ({ id: `id ${index}` }), 1],
  ['without one', 'none', () => ({}), 0],
] as const)('a send into a pool of many keys costs one write, and %s %s', async (_, __, options, reads) => {
  const calls = new Map<string, number>()
  const inner = durable()
  const store = new Proxy(inner, {
    get(target, name: keyof Store) {
      const verb = target[name]
      if (typeof verb !== 'function') return verb
      return (...given: never[]) => {
        calls.set(name, (calls.get(name) ?? 0) + 1)
        return (verb as (...of: never[]) => unknown).apply(target, given)
      }
    },
  })
  await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], { store })
  const { lane, pool } = pools
  await lane.settle(pool.ready())
  const other = pools.another()
  await lane.settle(other.ready())
  await lane.clock.advance(2_000)
  calls.clear()
  const sends = 20
  for (let index = 0; index < sends; index++)
    await lane.settle(other.send(transfer(index), { until: 'queued', ...options(index) }))
  const asked = Object.fromEntries(calls)
  expect(asked).toMatchObject({ enqueue: sends })
  expect(asked.find ?? 0).toBe(reads * sends)
  expect(asked.reports ?? 0).toBeLessThanOrEqual(1)
  expect(asked.list).toBeUndefined()
})
