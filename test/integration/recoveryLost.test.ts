import type pg from 'pg'
import { type Hex, keccak256, type LocalAccount } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type PgPool, postgresStore } from '../../src/store/postgres/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { type CutProxy, startCutProxy } from '../support/cutProxy.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { postgresPool } from '../support/postgresPool.js'
import { expirePostgres } from './recoveryPostgres.js'
import {
  type Life,
  type LifeOptions,
  markers,
  type Shelf,
  startLife,
  transfer,
  until,
} from './recoverySupport.js'

// Tests in which PostgreSQL, or the connection to it, fails under a working sender.
// The beginning of the store's statement for a lease owner's writes, on the wire and in its text.
const WRITE = 'slots_kept'

// The proxy holds a statement that arrived in one piece; with many more transactions it would come in
// several.
const COUNT = 20

let devnet: Devnet
let server: TestPostgres
let proxy: CutProxy
let looking: pg.Pool
let nextAccount = 0
let account: LocalAccount
const lives: Life[] = []

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 40 })
  server = await startPostgres()
  proxy = await startCutProxy(server.port)
  looking = postgresPool({ connectionString: server.connectionString, max: 2 })
  looking.on('error', () => {})
})
beforeEach(() => {
  account = devnet.accounts[nextAccount++] as LocalAccount
})
afterEach(async () => {
  await Promise.all(lives.splice(0).map((life) => life.close()))
})
afterAll(async () => {
  await looking?.end()
  await proxy?.stop()
  await server?.stop()
  await devnet?.stop()
})

function shelfOver(more: object = {}): Shelf {
  const connectionString = server.connectionString.replace(String(server.port), String(proxy.port))
  return {
    kind: 'postgres',
    open: () =>
      postgresStore({ connectionString, timeoutMs: 2_000, ...more } as { connectionString: string }),
    expire: () => expirePostgres(server.connectionString),
  }
}

function live(shelf: Shelf, more: Partial<LifeOptions> = {}): Life {
  const life = startLife({ devnet, account, shelf, ...more })
  lives.push(life)
  return life
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
const idOf = (marker: number) => `${account.address}-${marker}`
const send = (life: Life, marker: number) =>
  life.sender.send(transfer(marker), { id: idOf(marker), until: 'queued' })

async function journaled(raws: readonly Hex[]): Promise<number> {
  const { rows } = await looking.query(
    'SELECT count(*) AS count FROM txlane.slots WHERE body LIKE ANY ($1)',
    [raws.map((raw) => `%${keccak256(raw)}%`)],
  )
  return Number(rows[0].count)
}

describe('P6, row 5: the answer to a commit is lost', () => {
  test.each([
    ['loseReply', 'it was committed'],
    ['loseRequest', 'it never came'],
    ['holdRequest', 'it comes when the lane has been read again'],
    ['hang', 'nothing comes back'],
  ] as const)('%s: %s', async (fault, _) => {
    const early: Hex[] = []
    // Queries PostgreSQL itself, past the proxy, before the bytes are sent.
    const beforeSend = async (raws: readonly Hex[]) => {
      if ((await journaled(raws)) < raws.length) early.push(...raws)
    }
    const life = live(shelfOver(), { beforeSend })
    await life.sender.ready()
    const whileHeld: number[] = []
    life.sender.on('held', () => whileHeld.push(life.sent.length))
    life.sender.on('released', () => whileHeld.push(life.sent.length))
    proxy.fail(fault, WRITE)
    const txs = await Promise.all(numbers(COUNT).map((marker) => send(life, marker)))
    await until(() => life.events('released').length > 0)
    if (fault === 'holdRequest') await proxy.deliver()
    await Promise.all(txs.map((tx) => tx.wait('sealed')))
    await life.sender.drain()

    expect(life.events('held')).toEqual([{ reason: 'unknownCommit' }])
    expect(life.events('released')).toEqual([{ reason: 'unknownCommit' }])
    // The first write of the lane: no transaction may have been sent before it, and none was while it was
    // pending.
    expect(whileHeld).toEqual([0, 0])
    expect(early).toEqual([])
    expect((await markers(devnet, account)).sort((a, b) => a - b)).toEqual(numbers(COUNT))
    expect(txs.every(({ attempts }) => attempts.length === 1)).toBe(true)
  })

  test('and the process dies before it could read again: the next one finds the commit, and it lands once', async () => {
    const shelf = shelfOver()
    const first = startLife({ devnet, account, shelf })
    await first.sender.ready()
    proxy.fail('loseReply', WRITE)
    const txs = numbers(5).map((marker) => send(first, marker))
    await until(() => first.events('held').length > 0)
    expect(first.sent).toEqual([])
    await first.kill()
    await Promise.all(txs)

    await shelf.expire()
    const second = live(shelf)
    await second.sender.ready()
    await second.sender.drain()
    expect((await markers(devnet, account)).sort((a, b) => a - b)).toEqual(numbers(5))
  })
})

describe('PostgreSQL goes down during a burst, and comes back', () => {
  test('P4, P8: nothing is lost or doubled, and no part polls it in a loop', async () => {
    let asked = 0
    const own = postgresPool({ connectionString: server.connectionString, max: 9 })
    own.on('error', () => {})
    const pool: PgPool = {
      options: { max: 9 },
      end: async () => {},
      connect(taken) {
        asked++
        own.connect(taken as Parameters<PgPool['connect']>[0])
      },
    }
    const life = live({ ...shelfOver(), open: () => postgresStore({ pool, timeoutMs: 2_000 }) })
    await life.sender.ready()
    const errors: unknown[] = []
    let stubborn = 0

    /** Retries with the same id, as a caller does after a definite failure and after an unknown outcome. */
    async function keep(marker: number): Promise<void> {
      for (;;) {
        try {
          const tx = await send(life, marker)
          await tx.wait('sealed')
          return
        } catch (error) {
          errors.push(error)
          stubborn++
          await until(() => up)
        }
      }
    }
    let up = true
    const burst = numbers(400)
    const first = burst.slice(0, 200).map(keep)
    await until(() => life.sent.length > 50)
    await server.kill()
    up = false
    const before = asked
    const second = burst.slice(200).map(keep)
    await until(() => errors.length > 0)
    await until(() => life.events('held').some(({ reason }) => reason === 'unknownCommit'))
    const { failures } = life
    // The sender's own retries while the server is down, each after a delay that doubles.
    const tried = failures()
    await until(() => failures() >= tried + 5)
    const whileDown = asked - before
    await server.start()
    up = true
    await Promise.all([...first, ...second])
    await life.sender.drain()

    expect((await markers(devnet, account)).sort((a, b) => a - b)).toEqual(burst)
    for (const error of errors) expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE' })
    expect(stubborn).toBeGreaterThan(0)
    // Requests of callers, and a few retries of the journal, the arrivals reader, the heartbeat and the
    // listener.
    expect(whileDown).toBeLessThan(100)
    await life.close()
    lives.length = 0
    await own.end()
  })
})
