import type { LaneKey, ListOptions, Store, StoredTransaction } from '../../types/store.js'
import { equal, ok, rejects } from './check.js'
import { transactionIn } from './samples.js'
import type { Case } from './world.js'

export const list: readonly Case[] = [
  {
    name: 'a list is newest first, and ends without a cursor',
    async run({ store, other, lane, keep }) {
      const kept = await keep('a', 'b', 'c')
      const newest = [...kept].reverse()
      equal(await other.list([lane], { limit: 3 }), { items: newest }, 'a page that holds all')
      const page = await store.list([lane], { limit: 2 })
      equal(page.items, newest.slice(0, 2), 'the first page')
      ok(page.cursor !== undefined, 'there is more, and no cursor')
      const { cursor } = page
      equal(await other.list([lane], { limit: 2, cursor }), { items: newest.slice(2) }, 'the last page')
    },
  },
  {
    name: 'a list of one stage holds that stage, page after page',
    async run({ store, lane, keep, take, write }) {
      const kept = await keep(...Array.from({ length: 12 }, (_, index) => `t${index}`))
      const accepted = kept.filter((_, index) => index % 3 === 0)
      await write(await take(), { transactions: accepted.map((one) => ({ ...one, stage: 'accepted' })) })
      const read = await readAll(store, [lane], { limit: 3, stage: 'accepted' })
      equal(
        read.map(({ id }) => id),
        accepted.map(({ id }) => id).reverse(),
        'those of one stage',
      )
      equal(
        await store.list([lane], { stage: 'failed', limit: 3 }),
        { items: [] },
        'those of a stage without any',
      )
    },
  },
  {
    name: 'pages miss nothing and repeat nothing, although places in the order of arrival may be equal',
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
          'they do not come newest first',
        )
      }
    },
  },
  {
    name: 'what arrives or changes between two pages takes nothing away from the later ones',
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
    name: 'a list holds one lane only',
    async run({ store, newLane, keep }) {
      await keep('a')
      equal(await store.list([newLane()], { limit: 9 }), { items: [] }, 'a list of another lane')
    },
  },
  {
    name: 'a list of several lanes is in one order, by when each was taken on, page after page',
    async run({ store, other, lane, newLane }) {
      const lanes = [lane, ...Array.from({ length: 3 }, () => beside(lane, newLane))]
      // Several in each millisecond, and some that arrive late.
      const all = Array.from({ length: 24 }, (_, index) =>
        transactionIn(lanes[index % 3] ?? lane, `t${index}`, { createdAtMs: T + ((index * 7) % 8) }),
      )
      await store.enqueue(all)
      const expected = await readAll(other, lanes, { limit: 100 })
      equal(expected.map(({ id }) => id).sort(), all.map(({ id }) => id).sort(), 'what all lanes have')
      const times = expected.map(({ createdAtMs }) => createdAtMs)
      equal(
        times,
        [...times].sort((a, b) => b - a),
        'they do not come newest first',
      )
      for (const limit of [1, 2, 5, 23, 24])
        equal(await readAll(store, lanes, { limit }), expected, `pages of ${limit}`)
      equal(
        await readAll(store, [lane], { limit: 3 }),
        expected.filter((one) => one.lane.address === lane.address),
        'those of one lane',
      )
      equal(await store.list([], { limit: 3 }), { items: [] }, 'a list of no lane')
    },
  },
  {
    name: 'a list of a chain is that of all its lanes, and of no other chain',
    async run({ store, other, lane, newLane }) {
      const lanes = [lane, beside(lane, newLane), beside(lane, newLane)]
      const { chainId, genesisHash } = lane
      const chain = { chainId, genesisHash }
      equal(await other.list(chain, { limit: 3 }), { items: [] }, 'a list of a chain without any')
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
    name: 'a list of a group holds that group, and one of a time what was taken on in it, page after page',
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
      equal(await listed({ group: 'ORDERS' }), [], 'a group that nobody named')
      equal(await listed({ group: 'orders', stage: 'failed' }), ['t16'], 'a stage of a group')
      const times = { createdAfterMs: T + 8, createdBeforeMs: T + 12 }
      equal(
        await listed(times),
        ['t11', 't10', 't9', 't8'],
        'from one time, which counts, to another, which does not',
      )
      equal(await listed({ ...times, group: 'orders' }), ['t8'], 'a group in a time')
      equal(await listed({ createdBeforeMs: T }), [], 'before all')
      equal(await listed({ createdAfterMs: T + 20 }), [], 'after all')
    },
  },
  {
    name: 'what is handed to another lane keeps its place in a list of both',
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
    name: 'a cursor that no page gave back is INVALID',
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

/** Another lane of the chain of this one. */
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
