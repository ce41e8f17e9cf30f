import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keccak256 } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createNonceAllocator, type Store, storageNonce } from '../../src/index.js'
import { postgresStore } from '../../src/store/postgres/index.js'
import { sqliteStore } from '../../src/store/sqlite/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { ended } from '../support/ended.js'
import { PASSWORD, startPostgres, type TestPostgres } from '../support/postgres.js'

const program = bundledChild(new URL('../../tools/cli/main.ts', import.meta.url))
const CONTRACT = '0x00000000000000000000000000000000000000cc'
let devnet: Devnet
let folder: string
let postgres: TestPostgres

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-inspect-'))
  ;[devnet, postgres] = await Promise.all([
    startDevnet({ blockTimeMs: 400, flashblockMs: 200 }),
    startPostgres(),
  ])
})
afterAll(async () => {
  await Promise.all([devnet.stop(), postgres.stop()])
  await rm(folder, { recursive: true, force: true })
})

function inspect(place: string, ...more: readonly string[]) {
  const { address } = devnet.accounts[0]!
  return ended(
    spawn(process.execPath, [program, 'inspect', address, '--store', place, ...more], {
      env: { PATH: process.env.PATH, TXLANE_RPC_URL: devnet.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
}

const PLACES: readonly [string, () => { place: string; store: Store }][] = [
  [
    'SQLite',
    () => ({ place: join(folder, 'lanes.db'), store: sqliteStore({ path: join(folder, 'lanes.db') }) }),
  ],
  [
    'PostgreSQL',
    () => ({
      place: postgres.connectionString,
      store: postgresStore({ connectionString: postgres.connectionString }),
    }),
  ],
]

test.each(PLACES)('txlane inspect lists the nonces of contracts in a store of %s', async (_, open) => {
  const { place, store } = open()
  try {
    const source = storageNonce({ address: CONTRACT, slot: 5n })
    const nonces = createNonceAllocator({ client: devnet.client(), address: CONTRACT, source, store })
    const [first, second] = await nonces.reserveMany(2)
    await first?.commit({ payload: '0x1234' })
    const held = JSON.parse((await inspect(place, '--json')).out).stored
    expect(held.counters).toEqual([
      {
        kind: 'storage',
        contract: CONTRACT,
        slot: expect.stringMatching(/^0x0*5$/),
        nextNonce: '2',
        outstanding: [
          { nonce: '0', state: 'committed', payloads: [keccak256('0x1234')] },
          { nonce: '1', state: 'reserved', payloads: [] },
        ],
        holder: expect.any(String),
        leaseMs: expect.any(Number),
      },
    ])
    await second?.release()
    await nonces.close()
    const { out, err } = await inspect(place)
    expect(out).toContain(`contract     ${CONTRACT}\ncounts       a number in a storage slot\n`)
    expect(out).toContain(
      `outstanding  0: committed, with the payload\n             ${keccak256('0x1234')}\n`,
    )
    expect(out).toContain('assigned by  no process now\n')
    expect(`${out}${err}`).not.toContain(PASSWORD)
  } finally {
    await store.close()
  }
})

test('txlane inspect creates no schema in a database without a store, and shows no password', async () => {
  const empty = `${postgres.connectionString.replace(/\/[^/]*$/, '')}/template1`
  for (const place of [empty, postgres.connectionString.replace(PASSWORD, `${PASSWORD}x`)]) {
    const { code, out, err } = await inspect(place)
    expect(code).toBe(3)
    expect(err).toMatch(
      /^The database at postgres:\/\/127\S+ (has no store in the schema txlane\. It has none|does not answer \(28P01\))/,
    )
    expect(`${out}${err}`).not.toContain(PASSWORD)
  }
})

test('txlane inspect reads a store in another schema with --schema, and names the schemas with a store', async () => {
  const place = postgres.connectionString
  const store = postgresStore({ connectionString: place, schema: 'payments' })
  try {
    const source = storageNonce({ address: CONTRACT, slot: 6n })
    const nonces = createNonceAllocator({ client: devnet.client(), address: CONTRACT, source, store })
    const reserved = await nonces.reserve()
    expect((await inspect(place, '--schema', 'payments')).out).toContain(
      'Nonces of contracts in schema payments of postgres://',
    )
    const absent = await inspect(place, '--schema', 'nowhere')
    expect(absent.code).toBe(3)
    expect(absent.err).toMatch(
      /has no store in the schema nowhere\. It has one in (\w+, )*payments(, \w+)*: name the schema with --schema/,
    )
    expect((await inspect('lanes.db', '--schema', 'payments')).code).toBe(2)
    await reserved.release()
    await nonces.close()
  } finally {
    await store.close()
  }
})
