import type { LaneKey, ListOptions, Store, StoredTransaction } from '../../types/store.js'
import { equal, ok, rejects } from './check.js'
import { attemptIn, hashIn, liveIn, transactionIn } from './samples.js'
import type { Case } from './world.js'

export const find: readonly Case[] = [
  {
    name: 'a transaction is found by its id, on its chain only',
    async run({ store, other, lane, newLane, keep }) {
      const [kept] = await keep('a', 'A', 'ä "\\ 1')
      for (const by of [store, other]) {
        equal(await by.find(lane, { id: 'a' }), kept, 'the transaction found by an id')
        equal((await by.find(lane, { id: 'A' }))?.id, 'A', 'ids that differ in case are different ids')
        equal((await by.find(lane, { id: 'ä "\\ 1' }))?.id, 'ä "\\ 1', 'an id of other letters')
        equal(await by.find(lane, { id: 'b' }), undefined, 'an unknown id')
        equal(await by.find(newLane(), { id: 'a' }), undefined, 'an id on another chain')
        equal(await by.find({ ...lane, chainId: 1 }, { id: 'a' }), undefined, 'an id on another chain')
      }
    },
  },
  {
    name: 'a transaction is found by every hash that was ever journaled for it, in its current state',
    async run({ store, other, lane, newLane, keep, take, write }) {
      const lease = await take()
      const [a] = await keep('a')
      ok(a !== undefined, 'it was not stored')
      await write(lease, { slots: [liveIn(lane, 0, 'a', 'a1')] })
      await write(lease, { slots: [liveIn(lane, 0, 'a', 'a1', 'a2')] })
      const landed = { ...a, stage: 'sealed' as const, hash: hashIn(lane, 'a1'), nonce: 0 }
      await write(lease, { transactions: [landed], slots: [liveIn(lane, 1, 'a', 'a3')] })
      const gone = [0, 1].map((nonce) => ({ state: 'final', nonce, attempts: [] }) as const)
      await write(lease, { slots: gone, transactions: [{ ...landed, stage: 'finalized' }] })
      for (const name of ['a1', 'a2', 'a3']) {
        const hash = hashIn(lane, name)
        equal(
          await other.find(lane, { hash }),
          { ...landed, stage: 'finalized' },
          `the transaction found by ${name}`,
        )
        equal(await store.find(newLane(), { hash }), undefined, 'a hash on another chain')
      }
      equal(await store.find(lane, { hash: hashIn(lane, 'b1') }), undefined, 'an unknown hash')
    },
  },
  {
    name: 'a transaction is found by the hash that is written with it, for example of outside bytes',
    async run({ store, lane, take, write }) {
      const one = transactionIn(lane, 'a', { stage: 'accepted', sequence: 1, hash: hashIn(lane, 'out') })
      await write(await take(), { transactions: [one] })
      equal(await store.find(lane, { hash: hashIn(lane, 'out') }), one, 'the transaction found by its hash')
    },
  },
  {
    name: 'each attempt of one slot leads to its own transaction, and a no-op to none',
    async run({ store, lane, keep, take, write }) {
      await keep('a', 'b')
      const slot = liveIn(lane, 0, 'b')
      const attempts = [
        attemptIn(lane, 'a', 'a1'),
        attemptIn(lane, 'b', 'b1'),
        attemptIn(lane, undefined, 'n1'),
      ]
      await write(await take(), { slots: [{ ...slot, attempts }] })
      equal((await store.find(lane, { hash: hashIn(lane, 'a1') }))?.id, 'a', 'the replaced transaction')
      equal((await store.find(lane, { hash: hashIn(lane, 'b1') }))?.id, 'b', 'the replacement')
      equal(await store.find(lane, { hash: hashIn(lane, 'n1') }), undefined, 'a no-op')
    },
  },
]

export const list: readonly Case[] = [
  {
    name: 'a list is newest first, and ends without a cursor',
    async run({ store, other, lane, keep }) {
      const kept = await keep('a', 'b', 'c')
      const newest = [...kept].reverse()
      equal(await other.list([lane], { limit: 3 }), { items: newest }, 'a page with all transactions')
      const page = await store.list([lane], { limit: 2 })
      equal(page.items, newest.slice(0, 2), 'the first page')
      ok(page.cursor !== undefined, 'there are more transactions, but no cursor')
      const { cursor } = page
      equal(await other.list([lane], { limit: 2, cursor }), { items: newest.slice(2) }, 'the last page')
    },
  },
  {
    name: 'a list of one stage contains only that stage, page after page',
    async run({ store, lane, keep, take, write }) {
      const kept = await keep(...Array.from({ length: 12 }, (_, index) => `t${index}`))
      const accepted = kept.filter((_, index) => index % 3 === 0)
      await write(await take(), { transactions: accepted.map((one) => ({ ...one, stage: 'accepted' })) })
      const read = await readAll(store, [lane], { limit: 3, stage: 'accepted' })
      equal(
        read.map(({ id }) => id),
        accepted.map(({ id }) => id).reverse(),
        'the transactions of one stage',
      )
      equal(
        await store.list([lane], { stage: 'failed', limit: 3 }),
        { items: [] },
        'the transactions of an empty stage',
      )
    },
  },
  {
    name: 'pages miss nothing and repeat nothing, although sequences may be equal',
    async run({ store, lane, take, write }) {
      const all = Array.from({ length: 23 }, (_, index) =>
        transactionIn(lane, `t${index}`, { sequence: Math.floor(index / 9) }),
      )
      await write(await take(), { transactions: all })
      for (const limit of [1, 2, 5, 22, 23]) {
        const read = await readAll(store, [lane], { limit })
        equal(read.map(({ id }) => id).sort(), all.map(({ id }) => id).sort(), `pages of ${limit}`)
        const sequences = read.map(({ sequence }) => sequence)
        equal(
          sequences,
          [...sequences].sort((a, b) => b - a),
          'they are not newest first',
        )
      }
    },
  },
  {
    name: 'arrivals and changes between two pages remove nothing from the later pages',
    async run({ store, lane, keep, take, write }) {
      const kept = await keep('a', 'b', 'c', 'd')
      const { cursor } = await store.list([lane], { limit: 2 })
      await keep('e', 'f')
      await write(await take(), { transactions: kept.map((one) => ({ ...one, stage: 'sealed' })) })
      const { items } = await store.list([lane], { limit: 9, cursor })
      equal(
        items.map(({ id }) => id),
        ['b', 'a'],
        'the second page',
      )
    },
  },
  {
    name: 'a list contains one lane only',
    async run({ store, newLane, keep }) {
      await keep('a')
      equal(await store.list([newLane()], { limit: 9 }), { items: [] }, 'a list of another lane')
    },
  },
  {
    name: 'a list of several lanes has one order, by creation time, page after page',
    async run({ store, other, lane, newLane }) {
      const lanes = [lane, ...Array.from({ length: 3 }, () => beside(lane, newLane))]
      // Several transactions per millisecond, and some that arrive late.
      const all = Array.from({ length: 24 }, (_, index) =>
        transactionIn(lanes[index % 3] ?? lane, `t${index}`, { createdAtMs: T + ((index * 7) % 8) }),
      )
      await store.enqueue(all)
      const expected = await readAll(other, lanes, { limit: 100 })
      equal(
        expected.map(({ id }) => id).sort(),
        all.map(({ id }) => id).sort(),
        'the transactions of all lanes',
      )
      const times = expected.map(({ createdAtMs }) => createdAtMs)
      equal(
        times,
        [...times].sort((a, b) => b - a),
        'they are not newest first',
      )
      for (const limit of [1, 2, 5, 23, 24])
        equal(await readAll(store, lanes, { limit }), expected, `pages of ${limit}`)
      equal(
        await readAll(store, [lane], { limit: 3 }),
        expected.filter((one) => one.lane.address === lane.address),
        'the transactions of one lane',
      )
      equal(await store.list([], { limit: 3 }), { items: [] }, 'a list of no lane')
    },
  },
  {
    name: 'a list of a chain contains all its lanes, and no other chain',
    async run({ store, other, lane, newLane }) {
      const lanes = [lane, beside(lane, newLane), beside(lane, newLane)]
      const { chainId, genesisHash } = lane
      const chain = { chainId, genesisHash }
      equal(await other.list(chain, { limit: 3 }), { items: [] }, 'a list of an empty chain')
      const away = { ...lane, chainId: chainId + 1 }
      const all = Array.from({ length: 9 }, (_, index) =>
        transactionIn(lanes[index % 3] ?? lane, `t${index}`, {
          createdAtMs: T + index,
          group: `g${index % 2}`,
        }),
      )
      await store.enqueue([...all, transactionIn(away, 'away', { createdAtMs: T })])
      const expected = await readAll(other, lanes, { limit: 100 })
      for (const limit of [1, 4, 9])
        equal(await readAll(store, chain, { limit }), expected, `pages of ${limit}`)
      const ofGroup = await readAll(other, chain, { limit: 2, group: 'g1' })
      equal(
        ofGroup.map(({ id }) => id),
        ['t7', 't5', 't3', 't1'],
        'a group of all lanes',
      )
    },
  },
  {
    name: 'a list of a group contains that group, and a list of a time range its creations, page after page',
    async run({ store, other, lane, take, write }) {
      const names = ['orders', undefined, 'orders, old', 'Orders']
      const all = Array.from({ length: 20 }, (_, index) =>
        transactionIn(lane, `t${index}`, { createdAtMs: T + index, group: names[index % 4] }),
      )
      await store.enqueue(all)
      const [first] = (await store.list([lane], { limit: 1, group: 'orders' })).items
      ok(first !== undefined, 'a list of a group is empty')
      await write(await take(), { transactions: [{ ...first, stage: 'failed' }] })
      const listed = async (options: Partial<ListOptions>) =>
        (await readAll(other, [lane], { limit: 2, ...options })).map(({ id }) => id)
      equal(await listed({ group: 'orders' }), ['t16', 't12', 't8', 't4', 't0'], 'a group')
      equal(await listed({ group: 'orders, old' }), ['t18', 't14', 't10', 't6', 't2'], 'another group')
      equal(await listed({ group: 'ORDERS' }), [], 'an unused group')
      equal(await listed({ group: 'orders', stage: 'failed' }), ['t16'], 'a stage of a group')
      const times = { createdAfterMs: T + 8, createdBeforeMs: T + 12 }
      equal(
        await listed(times),
        ['t11', 't10', 't9', 't8'],
        'from one time, inclusive, to another, exclusive',
      )
      equal(await listed({ ...times, group: 'orders' }), ['t8'], 'a group in a time range')
      equal(await listed({ createdBeforeMs: T }), [], 'before all')
      equal(await listed({ createdAfterMs: T + 20 }), [], 'after all')
    },
  },
  {
    name: 'a transaction that is handed off to another lane keeps its place in a list of both',
    async run({ store, lane, newLane, keep, take, write }) {
      const to = beside(lane, newLane)
      const kept = await keep('a', 'b', 'c', 'd')
      await store.enqueue([transactionIn(to, 'e')])
      const before = (await readAll(store, [lane, to], { limit: 9 })).map(({ id }) => id)
      for (const limit of [1, 2, 3]) {
        const page = await store.list([lane, to], { limit })
        const handed = kept.map((one) => ({ ...one, lane: to, pooled: [lane.address] }))
        if (limit === 2) await write(await take(), { transactions: handed })
        const rest = await readAll(store, [to, lane], { limit, cursor: page.cursor })
        equal(
          [...page.items, ...rest].map(({ id }) => id),
          before,
          `pages of ${limit}`,
        )
      }
    },
  },
  {
    name: 'a cursor that no page returned is INVALID',
    async run({ store, lane, keep }) {
      await keep('a', 'b')
      for (const cursor of [
        '',
        'a',
        '7',
        '7:',
        '7:1',
        'x:1:a',
        '7:x:a',
        `${'9'.repeat(40)}:1:a`,
        "1' OR '1:1:a",
      ])
        await rejects(store.list([lane], { limit: 1, cursor }), 'INVALID', `the cursor ${cursor}`)
    },
  },
]

const T = 1_800_000_000_000

/** Another lane on the same chain. */
function beside(lane: LaneKey, newLane: () => LaneKey): LaneKey {
  return { ...lane, address: newLane().address }
}

async function readAll(store: Store, of: Parameters<Store['list']>[0], options: ListOptions) {
  const read: StoredTransaction[] = []
  let { cursor } = options
  do {
    const page = await store.list(of, { ...options, cursor })
    ok(page.items.length <= options.limit, 'a page is longer than its limit')
    read.push(...page.items)
    cursor = page.cursor
  } while (cursor !== undefined)
  return read
}
