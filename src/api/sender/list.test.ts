import { expect, test } from 'vitest'
import type { ListOptions, Sender } from '../../types/index.js'
import { KEYS, ONE_ETHER, openPools, transfer as payment } from '../pool/poolRelief.fixture.js'
import { openProcesses } from './processes.fixture.js'
import { onSend, openLane, type SimLane, TIMES_OUT, transfer } from './simLane.fixture.js'

/** The ids of all pages in order. */
async function listed(lane: SimLane, sender: Sender, options: ListOptions = {}): Promise<string[]> {
  const ids: string[] = []
  let { cursor } = options
  do {
    const page = await lane.settle(sender.list({ ...options, cursor }))
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}

test('list finds by group and by time, in every process', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [leader, standby] = await world.pair()
  leader.sender.pause()
  for (const [index, group] of ['orders', undefined, 'quotes', 'orders'].entries()) {
    await lane.settle(leader.sender.send(transfer(index), { id: `t${index}`, group, until: 'queued' }))
    await lane.clock.advance(1_000)
  }
  const [first] = (await lane.settle(leader.sender.list({ group: 'quotes' }))).items
  expect(first).toMatchObject({ id: 't2', group: 'quotes' })
  const at = first!.createdAt
  for (const { sender } of [leader, standby]) {
    expect(await listed(lane, sender, { group: 'orders', limit: 1 })).toEqual(['t3', 't0'])
    // The lower bound is inclusive, the upper bound is exclusive.
    expect(await listed(lane, sender, { createdAfter: at })).toEqual(['t3', 't2'])
    expect(await listed(lane, sender, { createdBefore: new Date(at), limit: 1 })).toEqual(['t1', 't0'])
    expect(await listed(lane, sender, { createdBefore: at, group: 'orders' })).toEqual(['t0'])
    expect(await listed(lane, sender, { group: 'Orders' })).toEqual([])
  }
  leader.sender.resume()
  await lane.settle(leader.sender.drain())
})

test('the items of sendMany and the members of a sequence have their group', async () => {
  await using lane = await openLane()
  const items = [0, 1].map((index) => ({ request: transfer(index), id: `t${index}`, group: `g${index}` }))
  const many = (async () => {
    for await (const one of lane.sender.sendMany(items)) expect(one.ok).toBe(true)
  })()
  await lane.settle(many)
  await lane.settle(lane.sender.sendSequence([transfer(2), transfer(3)], { id: 's', group: 'sequence' }))
  expect(await listed(lane, lane.sender, { group: 'g1' })).toEqual(['t1'])
  expect(await listed(lane, lane.sender, { group: 'sequence' })).toEqual(['s/1', 's/0'])
})

test('a list of one stage has the transactions at that stage now, also if no caller waits for them', async () => {
  await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 12_000 } })
  lane.script = onSend(() => TIMES_OUT)
  const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a', until: 'queued' }))
  await lane.until(() => tx.stage === 'signed')
  expect(await listed(lane, lane.sender, { stage: 'signed' })).toEqual(['a'])
  lane.script = undefined
  await lane.until(() => tx.stage === 'accepted')
  expect(await listed(lane, lane.sender, { stage: 'accepted' })).toEqual(['a'])
  expect(await listed(lane, lane.sender, { stage: 'signed' })).toEqual([])
  await lane.settle(tx.wait('sealed'))
  expect(await listed(lane, lane.sender, { stage: 'sealed' })).toEqual(['a'])
})

test('a pool lists all its accounts in one order with one cursor, while more transactions are sent', async () => {
  await using pools = await openPools([ONE_ETHER, ONE_ETHER, ONE_ETHER])
  const { lane, pool } = pools
  const sent: string[] = []
  const send = async (index: number) => {
    const tx = await lane.settle(pool.send(payment(index), { id: `t${index}`, until: 'queued' }))
    sent.unshift(tx.id)
    if (index % 3 === 0) await lane.clock.advance(1_000)
  }
  for (let index = 0; index < 9; index++) await send(index)
  const expected = [...sent]
  const other = pools.another()
  for (const sender of [pool, other]) {
    const records = (await lane.settle(sender.list())).items
    const times = records.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...times].sort().reverse())
    expect(new Set(records.map(({ from }) => from)).size).toBe(3)
    expect(records.map(({ id }) => id).sort()).toEqual([...expected].sort())
  }
  const all = await listed(lane, other)
  for (const limit of [1, 2, 4]) expect(await listed(lane, other, { limit })).toEqual(all)
  const page = await lane.settle(pool.list({ limit: 4 }))
  await send(9)
  const rest = await listed(lane, pool, { limit: 2, cursor: page.cursor })
  expect([...page.items.map(({ id }) => id), ...rest]).toEqual(all)
  await lane.settle(pool.drain())
})

test('lists an account that the pool does not have if it is named, and no other account', async () => {
  await using pools = await openPools([ONE_ETHER, ONE_ETHER])
  const { lane, pool } = pools
  const account = KEYS[1]!
  await lane.settle(pool.send({ ...payment(1), account } as never, { id: 'theirs' }))
  await lane.settle(pool.send({ ...payment(2), account: KEYS[0]! } as never, { id: 'own' }))
  await lane.settle(pool.drain())
  const single = pools.another(1)
  expect(await listed(lane, single)).toEqual(['own'])
  expect(await listed(lane, single, { account })).toEqual(['theirs'])
  expect(await listed(lane, pool, { account: KEYS[0]! })).toEqual(['own'])
  expect(await listed(lane, single.senders[0]!, { account })).toEqual(['theirs'])
})

test('`any` lists all accounts of the store, including accounts that the pool does not have', async () => {
  await using pools = await openPools([ONE_ETHER, ONE_ETHER])
  const { lane, pool } = pools
  for (const [index, account] of [KEYS[0]!, KEYS[1]!].entries())
    await lane.settle(
      pool.send({ ...payment(index), account } as never, { id: `t${index}`, group: 'orders' }),
    )
  await lane.settle(pool.drain())
  const single = pools.another(1)
  const any = { account: 'any', group: 'orders' } as const
  expect((await listed(lane, single, any)).sort()).toEqual(['t0', 't1'])
  expect(await listed(lane, single.senders[0]!, { ...any, limit: 1 })).toEqual(await listed(lane, pool, any))
  expect(await listed(lane, single, { ...any, group: 'other' })).toEqual([])
})
