import type { LaneKey, Store, StoredTransaction } from '../store.js'
import { equal, ok } from './check.js'
import { transactionIn } from './samples.js'
import type { Case } from './world.js'

export const list: readonly Case[] = [
  {
    name: 'a list is newest first, and ends without a cursor',
    async run({ store, other, lane, keep }) {
      const kept = await keep('a', 'b', 'c')
      const newest = [...kept].reverse()
      equal(await other.list(lane, { limit: 3 }), { items: newest }, 'a page that holds all')
      const page = await store.list(lane, { limit: 2 })
      equal(page.items, newest.slice(0, 2), 'the first page')
      ok(page.cursor !== undefined, 'there is more, and no cursor')
      const { cursor } = page
      equal(await other.list(lane, { limit: 2, cursor }), { items: newest.slice(2) }, 'the last page')
    },
  },
  {
    name: 'a list of one stage holds that stage, page after page',
    async run({ store, lane, keep, take, write }) {
      const kept = await keep(...Array.from({ length: 12 }, (_, index) => `t${index}`))
      const accepted = kept.filter((_, index) => index % 3 === 0)
      await write(await take(), { transactions: accepted.map((one) => ({ ...one, stage: 'accepted' })) })
      const read = await readAll(store, lane, 3, 'accepted')
      equal(
        read.map(({ id }) => id),
        accepted.map(({ id }) => id).reverse(),
        'those of one stage',
      )
      equal(
        await store.list(lane, { stage: 'failed', limit: 3 }),
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
        const read = await readAll(store, lane, limit)
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
      const { cursor } = await store.list(lane, { limit: 2 })
      await keep('e', 'f')
      await write(await take(), { transactions: kept.map((one) => ({ ...one, stage: 'sealed' })) })
      const { items } = await store.list(lane, { limit: 9, cursor })
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
      equal(await store.list(newLane(), { limit: 9 }), { items: [] }, 'a list of another lane')
    },
  },
]

async function readAll(store: Store, lane: LaneKey, limit: number, stage?: StoredTransaction['stage']) {
  const read: StoredTransaction[] = []
  let cursor: string | undefined
  do {
    const page = await store.list(lane, { limit, stage, cursor })
    ok(page.items.length <= limit, 'a page is longer than its limit')
    read.push(...page.items)
    cursor = page.cursor
  } while (cursor !== undefined)
  return read
}
