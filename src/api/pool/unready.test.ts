import { describe, expect, test, vi } from 'vitest'
import { memoryStore } from '../../store/memory.js'
import type { Store } from '../../types/store.js'
import { KEYS, ONE_ETHER, openPools, type Pools, transfer } from './poolRelief.fixture.js'

const durable = (): Store => ({ ...memoryStore({ now: () => 0 }), durable: true })
const reasons = ({ pool }: Pools) =>
  pool.health().reasons.map(({ for: kind, address }) => [kind, address.toLowerCase()])

describe('ready() of a pool', () => {
  test('reports a key without money before its first transaction, until the key has money', async () => {
    const warn = vi.fn()
    await using pools = await openPools([0n, ONE_ETHER], { logger: { info() {}, warn } })
    const { lane, pool } = pools
    await lane.settle(pool.ready())
    expect(reasons(pools)).toEqual([['empty', KEYS[0]]])
    const [empty] = pool.health().reasons
    expect(empty?.sentence).toMatch(/^The account has 0 wei, and a transfer may take \d{11,} wei\./)
    expect(pool.health().ready).toBe(true)
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ reason: 'empty' }),
      empty?.sentence,
    )
    pools.give(0, ONE_ETHER)
    await lane.blocks(1)
    await lane.settle(pool.ready())
    expect(reasons(pools)).toEqual([])
  })

  test('reports accounts with unfinished work that no process serves, until a process serves them', async () => {
    const store = durable()
    await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER], { store }, 1)
    const { lane, pool } = pools
    const former = pools.another()
    former.pause()
    for (const [marker, key] of [
      [1, 1],
      [2, 1],
      [3, 2],
    ] as const)
      await lane.settle(
        former.send({ ...transfer(marker), account: KEYS[key] } as never, { until: 'queued' }),
      )
    await lane.settle(pool.ready())
    expect(reasons(pools), 'while another process serves them').toEqual([])
    await lane.settle(former.close())
    await lane.settle(pool.ready())
    expect(reasons(pools).sort()).toEqual([
      ['unserved', KEYS[1]],
      ['unserved', KEYS[2]],
    ])
    expect(pool.health().reasons.map(({ sentence }) => sentence)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^2 transactions wait in the store, and no process/)]),
    )
    const added = [1, 2].map((key) => pool.add(pools.account(key)))
    await lane.settle(pool.ready())
    expect(reasons(pools)).toEqual([])
    await lane.settle(Promise.all(added.map((sender) => sender.drain())))
    expect(pools.executed()).toHaveLength(3)
  })
})
