// Measures the rows per second that PostgreSQL persists with one process and with two:
// `npm run bench:postgres`. Prints one line of JSON.
import { performance } from 'node:perf_hooks'
import { liveIn, transactionIn } from '../src/store/contract/samples.js'
import { postgresStore } from '../src/store/postgres/index.js'
import type { LaneKey, Store, StoredTransaction } from '../src/types/store.js'
import { startPostgres } from '../test/support/postgres.js'
import { disposeAll, obeyOrders, startChild } from './support/children.js'

const TRANSACTIONS = 5_000
const BATCH = 500
const SLOTS = 100
const ROUNDS = 5

type Task = { readonly what: 'enqueue' | 'write'; readonly round: number; readonly count: number }

const laneOf = (address: number): LaneKey => ({
  chainId: 31_337,
  genesisHash: `0x${'1'.repeat(64)}`,
  address: `0x${address.toString(16).padStart(40, '0')}`,
})

/** A worker process: executes the parent's orders, and reports when each is done. */
function worker(connectionString: string, own: number): void {
  const store = postgresStore({ connectionString })
  obeyOrders({
    start: store.acquire(laneOf(own), `holder-${own}`, 600_000).then(() => undefined),
    obey: (task: Task) => (task.what === 'enqueue' ? enqueue : write)(store, own, task),
    end: () => store.close(),
  })
}

function batchOf(lane: LaneKey, name: string, count: number): StoredTransaction[] {
  return Array.from({ length: count }, (_, index) => transactionIn(lane, `${name}-${index}`))
}

/** Enqueues everything into one lane: the worst case, because the lane's row is locked in turn. */
async function enqueue(store: Store, own: number, { round, count }: Task): Promise<void> {
  for (let done = 0; done < count; done += BATCH) {
    const kept = await store.enqueue(batchOf(laneOf(99), `${own}-${round}-${done}`, BATCH))
    if (kept.some(({ fresh }) => !fresh)) throw new Error('An id was known already.')
  }
}

/**
 * Writes batches of a hundred signed transactions with their slots, as the lease owner of a lane journals
 * them.
 */
async function write(store: Store, own: number, { round, count }: Task): Promise<void> {
  const lane = laneOf(own)
  const lease = { lane, epoch: 1, holder: `holder-${own}` }
  for (let done = 0; done < count; done += SLOTS) {
    const first = round * TRANSACTIONS + done
    const transactions = batchOf(lane, `w-${own}-${round}-${done}`, SLOTS).map((one, index) => ({
      ...one,
      stage: 'signed' as const,
      sequence: first + index,
      nonce: first + index,
    }))
    const slots = transactions.map(({ id, nonce }) => liveIn(lane, nonce, id, `${own}-${nonce}`))
    await store.write(lease, { slots, transactions, cursor: first + SLOTS })
  }
}

async function measure(connectionString: string, processes: number, first: number) {
  const children = Array.from({ length: processes }, (_, index) =>
    startChild(new URL(import.meta.url), [String(first + index)], {
      env: { ...process.env, CONNECTION_STRING: connectionString },
    }),
  )
  await Promise.all(children.map(({ started }) => started))
  const median: Record<string, number> = {}
  for (const what of ['enqueue', 'write'] as const) {
    const rates: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const begun = performance.now()
      const task: Task = { what, round, count: TRANSACTIONS / processes }
      await Promise.all(children.map((child) => child.ask(task)))
      rates.push((TRANSACTIONS * 1_000) / (performance.now() - begun))
    }
    median[`${what}PerSecond`] = Math.round(rates.sort((a, b) => a - b)[ROUNDS >> 1] ?? 0)
  }
  await disposeAll(children)
  return median
}

async function main(): Promise<void> {
  await using server = await startPostgres()
  const one = await measure(server.connectionString, 1, 1)
  const two = await measure(server.connectionString, 2, 10)
  process.stdout.write(`${JSON.stringify({ transactions: TRANSACTIONS, rounds: ROUNDS, one, two })}\n`)
}

const [own] = process.argv.slice(2)
await (own === undefined ? main() : worker(process.env.CONNECTION_STRING ?? '', Number(own)))
