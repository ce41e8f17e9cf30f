import type { LaneKey, Store, StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { risingAbove } from './intake.js'
import { transactionIn } from './samples.js'
import { type Case, sleep } from './world.js'

export const arrivals: readonly Case[] = [
  {
    name: 'arrivals come in pages, in the order of arrival, with nothing missing between the pages',
    async run({ store, other, lane, keep }) {
      const kept = await keep(...Array.from({ length: 25 }, (_, index) => `t${index}`))
      const read = await readAll(other, lane, 0, 7)
      equal(read.transactions, kept, 'what arrived')
      equal((await store.arrivals(lane, read.after, 7)).transactions, [], 'entries after the last one')
    },
  },
  {
    name: 'transactions and commands share a page: a reader that continues from its last entry misses neither',
    async run({ store, lane, keep }) {
      await keep('a')
      const command = { kind: 'cancel' } as const
      for (let index = 0; index < 6; index++) await store.postCommand(lane, 'a', command)
      await keep('b', 'c', 'd', 'e')
      for (let index = 0; index < 3; index++) await store.postCommand(lane, 'b', command)
      for (const limit of [1, 2, 3, 100]) {
        const read = await readAll(store, lane, 0, limit)
        equal(read.transactions.length, 5, `transactions in pages of ${limit}`)
        equal(read.commands.length, 9, `commands in pages of ${limit}`)
      }
    },
  },
  {
    name: 'entries stored while the lease owner reads are not missed',
    async run({ store, other, lane }) {
      const batches = Array.from({ length: 30 }, (_, batch) =>
        (batch % 2 ? other : store).enqueue(
          Array.from({ length: 5 }, (_, index) => transactionIn(lane, `t${batch}.${index}`)),
        ),
      )
      const all = Promise.all(batches)
      const read = await readWhile(all, (after) => store.arrivals(lane, after, 11))
      const sequences = read.map(({ sequence }) => sequence)
      equal(risingAbove(0, sequences), true, 'the entries are not in the order of arrival')
      equal(new Set(read.map(({ id }) => id)).size, 150, 'the number of arrivals')
    },
  },
  {
    name: 'transactions that are not in a load arrive after it',
    async run({ store, other, lane, take }) {
      const lease = await take()
      const ids = Array.from({ length: 30 }, (_, index) => `t${index}`)
      const all = Promise.all(
        ids.map((id, index) => (index % 2 ? other : store).enqueue([transactionIn(lane, id)])),
      )
      const { transactions, arrived } = await store.load(lease)
      await all
      const later = await readAll(store, lane, arrived, 100)
      const seen = [...transactions, ...later.transactions].map(({ id }) => id)
      equal(seen.sort(), [...ids].sort(), 'the loaded transactions, and those that arrived then')
    },
  },
  {
    name: 'changes: each transaction once, in its current state, in the order of its last change',
    async run({ store, other, lane, take, keep, write }) {
      const lease = await take()
      const [a, b, c] = await keep('a', 'b', 'c')
      ok(a !== undefined && b !== undefined && c !== undefined, 'the transactions were not stored')
      const first = await other.changes(lane, 0, 10)
      equal(first.transactions, [a, b, c], 'all transactions, from the beginning')
      equal(
        await other.changes(lane, first.revision, 10),
        { transactions: [], revision: first.revision },
        'none',
      )

      await write(lease, { transactions: [{ ...b, stage: 'signed' }] })
      await write(lease, { transactions: [{ ...a, stage: 'signed' }] })
      await write(lease, { transactions: [{ ...b, stage: 'accepted' }] })
      const [signed, accepted] = [
        { ...a, stage: 'signed' },
        { ...b, stage: 'accepted' },
      ]
      equal((await store.changes(lane, first.revision, 10)).transactions, [signed, accepted], 'what changed')
      equal(
        (await store.changes(lane, 0, 10)).transactions,
        [c, signed, accepted],
        'all transactions, from the beginning',
      )
    },
  },
  {
    name: 'changes: from now on, without earlier ones',
    async run({ store, other, lane, take, keep, write }) {
      equal(
        await other.changes(lane, 'now', 10),
        { transactions: [], revision: 0 },
        'a lane that was never used',
      )
      const lease = await take()
      const [a, b] = await keep('a', 'b')
      ok(a !== undefined && b !== undefined, 'the transactions were not stored')
      const now = await other.changes(lane, 'now', 10)
      equal(now.transactions, [], 'earlier changes')
      await write(lease, { transactions: [{ ...a, stage: 'signed' }] })
      const later = await store.changes(lane, now.revision, 10)
      equal(later.transactions, [{ ...a, stage: 'signed' }], 'later changes')
    },
  },
  {
    name: 'changes: in pages, with nothing missing between them, those of one write too',
    async run({ store, other, lane, take, keep, write }) {
      const lease = await take()
      const kept = await keep(...Array.from({ length: 20 }, (_, index) => `t${index}`))
      await write(lease, { transactions: kept.map((one) => ({ ...one, stage: 'signed' as const })) })
      const seen: string[] = []
      let revision = 0
      for (;;) {
        const page = await other.changes(lane, revision, 3)
        ok(page.transactions.length <= 3, 'a page is longer than its limit')
        if (page.transactions.length === 0) break
        seen.push(...page.transactions.map(({ id }) => id))
        revision = page.revision
      }
      equal(seen.sort(), kept.map(({ id }) => id).sort(), 'the transactions of all pages')
      equal((await store.changes(lane, revision, 3)).transactions, [], 'changes after the last page')
    },
  },
  {
    name: 'changes: no change during a read is missed',
    async run({ store, other, lane, take, keep, write }) {
      const lease = await take()
      const kept = await keep(...Array.from({ length: 20 }, (_, index) => `t${index}`))
      const turns = Array.from({ length: 20 }, (_, index) => index + 1)
      const all = Promise.all([
        ...turns.map((turn) =>
          write(lease, { transactions: [...kept].reverse().map((one) => ({ ...one, createdAtMs: turn })) }),
        ),
        ...turns.map((turn) => other.enqueue([transactionIn(lane, `new${turn}`, { createdAtMs: 20 })])),
      ])
      const last = new Map<string, StoredTransaction>()
      let revision = 0
      await readWhile(all, async () => {
        const page = await other.changes(lane, revision, 7)
        for (const one of page.transactions) last.set(one.id, one)
        revision = page.revision
        return { transactions: page.transactions, commands: [] }
      })
      equal(last.size, 40, 'the number of changes seen')
      for (const { id } of last.values()) {
        equal(last.get(id), await store.find(lane, { id }), 'the last state seen')
      }
    },
  },
  {
    name: 'an arrival in one lane appears in no other lane',
    async run({ store, newLane, keep }) {
      await keep('a')
      const stranger = newLane()
      equal(
        await store.arrivals(stranger, 0, 10),
        { transactions: [], commands: [] },
        'arrivals of another lane',
      )
      equal(
        await store.changes(stranger, 0, 10),
        { transactions: [], revision: 0 },
        'changes of another lane',
      )
    },
  },
]

type Page = Awaited<ReturnType<Store['arrivals']>>

/** Continues from the last entry of each page, a transaction or a command, until a page is empty. */
async function readAll(store: Store, lane: LaneKey, start: number, limit: number) {
  const transactions: StoredTransaction[] = []
  const commands: Page['commands'][number][] = []
  let after = start
  for (;;) {
    const page = await store.arrivals(lane, after, limit)
    ok(page.transactions.length <= limit && page.commands.length <= limit, 'a page is longer than its limit')
    if (page.transactions.length + page.commands.length === 0) return { transactions, commands, after }
    transactions.push(...page.transactions)
    commands.push(...page.commands)
    after = lastOf(page, after)
  }
}

function lastOf({ transactions, commands }: Page, after: number): number {
  return Math.max(after, transactions.at(-1)?.sequence ?? 0, commands.at(-1)?.sequence ?? 0)
}

/** Reads page after page while `work` runs, and until a page that was requested after its end is empty. */
async function readWhile(work: Promise<unknown>, read: (after: number) => Promise<Page>) {
  const seen: StoredTransaction[] = []
  let after = 0
  let done = false
  const ended = work.then(() => {
    done = true
  })
  for (;;) {
    const wasDone = done
    const page = await read(after)
    seen.push(...page.transactions)
    after = lastOf(page, after)
    if (page.transactions.length > 0) continue
    if (wasDone) break
    await sleep(1)
  }
  await ended
  return seen
}
