import { performance } from 'node:perf_hooks'
import type pg from 'pg'
import PgBoss from 'pg-boss'
import { createClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createSenderPool, type SenderPool } from '../../src/index.js'
import { postgresStore } from '../../src/store/postgres/index.js'
import { pause } from '../../test/support/pause.js'
import { startPostgres } from '../../test/support/postgres.js'
import { postgresPool } from '../../test/support/postgresPool.js'
import { atMost, type Claim, medianOf } from '../claim.js'
import { chainOf, keyOf, type Node, startNode } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const TXLANE = { name: 'txlane, a pool of 50 keys' }
const BOSS = { name: 'pg-boss' }
const KEYS = 50
/** As many callers as a typical service has at once. */
const CALLERS = 50
const ALONE = 'a send, one after the other'
const TOGETHER = `a send, ${CALLERS} callers at once`
const STATEMENTS = 'statements for each send, one after the other'
const QUEUE = 'bench'
const IDLE_MS = 4_000
const TO = '0x00000000000000000000000000000000000000aa'

/** Enqueues a transaction by its number; resolves when it is persisted. */
type Intake = AsyncDisposable & { take(index: number): Promise<unknown>; statements(): number }
type Turn = { readonly aloneMs: number; readonly togetherMs: number; readonly statements: number }

export const claim: Claim = {
  says: 'A pool of many keys enqueues a transaction with one write, and one read if it has an id.',
  transactions: 1_000,
  async run({ rounds, transactions: count, say }) {
    await using server = await startPostgres()
    await using node = await startNode()
    await using txlane = await openTxlane(node, server.connectionString)
    await using boss = await openBoss(server.connectionString)
    let taken = 0
    const { values, failures } = await takeTurns({
      subjects: [
        { ...TXLANE, intake: txlane },
        { ...BOSS, intake: boss },
      ],
      rounds,
      async run({ intake }) {
        const first = taken
        taken += 2 * count
        return turn(intake, first, count)
      },
      show: ({ aloneMs, togetherMs }) =>
        `${aloneMs.toFixed(2)} ms one after the other, ${togetherMs.toFixed(2)} ms of ${CALLERS} at once`,
      say,
    })
    const of = (measure: string, unit: string, value: (turn: Turn) => number) =>
      figuresOf(
        { measure, unit },
        [...values].map(([name, turns]) => [name, turns.map(value)] as const),
      )
    const figures = [
      ...of(ALONE, 'ms', ({ aloneMs }) => aloneMs),
      ...of(TOGETHER, 'ms', ({ togetherMs }) => togetherMs),
      ...of(STATEMENTS, 'statements', ({ statements }) => statements),
    ]
    return {
      figures,
      checks: [
        atMost('statements for each send with an id', medianOf(figures, STATEMENTS, TXLANE.name), 2.2),
      ],
      notes: [
        `${count} sends with an id of their own and \`until: 'queued'\`, one after the other, and as many from ${CALLERS} callers at once, into a pool of ${KEYS} keys that is paused, so that no transaction is signed meanwhile; compared with pg-boss's \`send\` of the same request. Both persist it in PostgreSQL before they resolve, on one server.`,
        'Statements are counted at the connections of each, without the background statements of an idle process. A send with an id checks whether the id is known, and writes.',
        ...failures,
      ],
    }
  },
}

async function turn(intake: Intake, first: number, count: number): Promise<Turn> {
  const idle = await idleStatements(intake)
  const before = intake.statements()
  const alone = await timedMs(async () => {
    for (let index = 0; index < count; index++) await intake.take(first + index)
  })
  const statements = (intake.statements() - before - idle * alone) / count
  let next = first + count
  const together = await timedMs(async () => {
    const caller = async () => {
      while (next < first + 2 * count) await intake.take(next++)
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))
  })
  return { aloneMs: alone / count, togetherMs: together / count, statements }
}

/** Background statements per idle millisecond: leases, and queries for work of other processes. */
async function idleStatements(intake: Intake): Promise<number> {
  const before = intake.statements()
  await pause(IDLE_MS)
  return (intake.statements() - before) / IDLE_MS
}

async function timedMs(work: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** Counts the statements on the connections of a pool. */
function counted(pool: pg.Pool): { readonly pool: pg.Pool; readonly count: () => number } {
  let statements = 0
  const seen = new WeakSet<object>()
  pool.on('connect', (client) => {
    if (seen.has(client)) return
    seen.add(client)
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    client.query = ((...given: unknown[]) => {
      statements++
      return query(...given)
    }) as typeof client.query
  })
  return { pool, count: () => statements }
}

async function openTxlane(node: Node, connectionString: string): Promise<Intake> {
  const { pool: connections, count } = counted(postgresPool({ connectionString, max: 8 }))
  const store = postgresStore({ pool: connections })
  const pool: SenderPool = createSenderPool({
    client: createClient({ chain: chainOf(node.url), transport: http(node.url) }),
    accounts: Array.from({ length: KEYS }, (_, key) =>
      privateKeyToAccount(keyOf(`intake ${key}`).privateKey),
    ),
    store,
    logger: false,
    limits: { queueMax: 1_000_000 },
  })
  pool.pause()
  await pool.ready()
  return {
    take: (index) => pool.send({ to: TO, value: 1n, gas: 21_000n }, { id: `send ${index}`, until: 'queued' }),
    statements: count,
    async [Symbol.asyncDispose]() {
      await pool.close()
      await store.close()
      await connections.end()
    },
  }
}

async function openBoss(connectionString: string): Promise<Intake> {
  const { pool: connections, count } = counted(postgresPool({ connectionString, max: 8 }))
  const boss = new PgBoss({
    db: { executeSql: (text, values) => connections.query(text, values) },
    schema: 'boss',
  })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue(QUEUE)
  return {
    take: (index) => boss.send(QUEUE, { id: `send ${index}`, to: TO, value: '1', gas: '21000' }),
    statements: count,
    async [Symbol.asyncDispose]() {
      await boss.stop({ graceful: false })
      await connections.end()
    },
  }
}
