import type { LocalAccount } from 'viem'
import { keccak256 } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { rpc, sign } from './devnetSupport.js'
import { expirePostgres } from './recoveryPostgres.js'
import {
  blocks,
  known,
  type Life,
  type LifeOptions,
  landed,
  markers,
  type Shelf,
  type SqliteShelf,
  sqliteShelf,
  startLife,
  transfer,
  until,
} from './recoverySupport.js'

// A sending process is killed, and another one begins with the dead one's store.

let devnet: Devnet
let server: TestPostgres
let nextAccount = 0
let account: LocalAccount
const shelves: SqliteShelf[] = []
const lives: Life[] = []

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 40 })
  server = await startPostgres()
})
afterEach(async () => {
  devnet.faults.clear()
  await Promise.all(lives.splice(0).map((life) => life.close()))
  for (const shelf of shelves.splice(0)) shelf.dispose()
})
afterAll(async () => {
  await devnet?.stop()
  await server?.stop()
})

/** An account that no other test has used. */
function fresh(): LocalAccount {
  account = devnet.accounts[nextAccount++] as LocalAccount
  return account
}

function sqlite(): SqliteShelf {
  const shelf = sqliteShelf()
  shelves.push(shelf)
  return shelf
}

function postgres(): Shelf {
  const { connectionString } = server
  return {
    kind: 'postgres',
    open: () => postgresStore({ connectionString }),
    expire: () => expirePostgres(connectionString),
  }
}

type More = Partial<Omit<LifeOptions, 'devnet' | 'shelf'>>

/** A life that the test kills. */
const mortal = (shelf: Shelf, more: More = {}): Life => startLife({ devnet, account, shelf, ...more })

/** A life that is closed after the test. */
async function nextLife(shelf: Shelf, more: More = {}): Promise<Life> {
  await shelf.expire()
  const life = mortal(shelf, more)
  lives.push(life)
  return life
}

/** Signs every transaction except the one with this value, whose signature never comes. */
function neverSigns(marker: number): LocalAccount {
  const { signTransaction } = account
  return {
    ...account,
    signTransaction: (request: { value?: bigint }, ...rest: never[]) =>
      request.value === BigInt(marker)
        ? new Promise(() => {})
        : signTransaction(request as never, ...(rest as [])),
  } as LocalAccount
}

describe.each([
  ['sqlite', sqlite],
  ['postgres', postgres],
])('attempts of an earlier life (%s)', (_, open) => {
  test('P2, P6, row 4: journaled bytes that were never sent are sent unchanged, followed, and land once', async () => {
    fresh()
    const shelf = open()
    const first = mortal(shelf, { cutOff: true })
    const ids = [1, 2, 3].map((marker) => `${account.address}-${marker}`)
    const sends = ids.map((id, index) => first.sender.send(transfer(index + 1), { id, until: 'queued' }))
    const journaled = await Promise.all(sends)
    await until(() => first.sent.length >= 3)
    const hashes = journaled.map(({ hash }) => hash)
    await first.kill()
    expect(await devnet.pool()).toEqual([])
    await blocks(devnet, 1)
    expect(await landed(devnet, account)).toEqual([])

    const second = await nextLife(shelf)
    const txs = await Promise.all(ids.map((id) => known(second, id)))
    expect(txs.map(({ hash }) => hash)).toEqual(hashes)
    await Promise.all(txs.map((tx) => tx.wait('sealed')))
    await second.sender.drain()
    expect(await landed(devnet, account)).toEqual(
      [1, 2, 3].map((marker, nonce) => ({ nonce, marker, hash: hashes[nonce] })),
    )
    expect(new Set(second.sent.map((raw) => keccak256(raw)))).toEqual(new Set(hashes))
  })

  test('P2: a transaction that landed while no process ran is found, and not sent again', async () => {
    fresh()
    const shelf = open()
    const first = mortal(shelf)
    const id = `${account.address}-landed`
    const tx = await first.sender.send(transfer(1), { id })
    const { hash } = tx
    await first.kill()
    await until(async () => (await landed(devnet, account)).length === 1)
    const second = await nextLife(shelf)
    // The caller does not know the outcome either, and sends with the same id.
    const again = await second.sender.send(transfer(1), { id })
    expect(await again.wait('sealed')).toMatchObject({ nonce: 0, hash, status: 'success' })
    await second.sender.drain()
    expect(await markers(devnet, account)).toEqual([1])
  })

  test('P4, row 25: a foreign transaction took the nonce meanwhile: reported, and ours lands once at another nonce', async () => {
    fresh()
    const shelf = open()
    const first = mortal(shelf, { cutOff: true })
    const ids = [1, 2].map((marker) => `${account.address}-${marker}`)
    await Promise.all(ids.map((id, index) => first.sender.send(transfer(index + 1), { id, until: 'queued' })))
    await until(() => first.sent.length >= 2)
    await first.kill()
    const foreign = await devnet.foreign({ account })
    await until(async () => (await landed(devnet, account)).length === 1)

    const second = await nextLife(shelf)
    const txs = await Promise.all(ids.map((id) => known(second, id)))
    await Promise.all(txs.map((tx) => tx.wait('sealed')))
    await second.sender.drain()
    const all = await landed(devnet, account)
    expect(all[0]).toMatchObject({ nonce: 0, hash: foreign })
    // The second was not displaced, and keeps its nonce; the first gets a nonce above it.
    expect(all.map(({ marker }) => marker)).toEqual([0, 2, 1])
    expect(second.events('foreign')).toMatchObject([{ nonce: 0 }])
  })
})

describe('reservations of an earlier life', () => {
  test('row 6: a reservation of the lane itself without an attempt is a hole, and its transaction takes it again', async () => {
    fresh()
    const shelf = sqlite()
    const first = mortal(shelf, { account: neverSigns(1) })
    const ids = ['unsigned', 'signed']
    const [, signed] = await Promise.all(
      ids.map((id, index) => first.sender.send(transfer(index + 1), { id, until: 'queued' })),
    )
    await until(() => first.events('signed').length === 1)
    const { hash } = signed as { hash: `0x${string}` }
    expect([signed?.nonce, first.sent]).toEqual([1, []])
    await first.kill()

    const second = await nextLife(shelf)
    const txs = await Promise.all(ids.map((id) => known(second, id)))
    await Promise.all(txs.map((tx) => tx.wait('sealed')))
    const all = await landed(devnet, account)
    expect(all.map(({ marker }) => marker)).toEqual([1, 2])
    expect(all[1]?.hash).toBe(hash)
  })

  test('P3, rows 2 and 6: a hole whose transaction is no longer wanted is filled with a no-op', async () => {
    fresh()
    const shelf = sqlite()
    const first = mortal(shelf, { account: neverSigns(1) })
    await first.sender.ready()
    const expires = { atMs: Date.now() + 1_800_000 }
    await Promise.all([
      first.sender.send(transfer(1), { id: 'late', until: 'queued', expires }),
      first.sender.send(transfer(2), { id: 'wanted', until: 'queued' }),
    ])
    await until(() => first.events('signed').length === 1)
    await first.kill()

    const second = await nextLife(shelf, { laterMs: 3_600_000 })
    await (await known(second, 'wanted')).wait('sealed')
    await second.sender.drain()
    expect(await markers(devnet, account)).toEqual([0, 2])
    expect(await known(second, 'late')).toMatchObject({ stage: 'failed' })
  })

  test('row 8: nonces handed to outside code stay theirs; transactions they sent meanwhile are not overwritten', async () => {
    fresh()
    const shelf = sqlite()
    const first = mortal(shelf)
    const { nonce } = await first.allocator.reserve()
    await first.sender.send(transfer(2), { id: 'above' })
    await first.kill()

    const second = await nextLife(shelf)
    await second.sender.send(transfer(3), { id: 'next' })
    await blocks(devnet, 3)
    expect(await second.sender.snapshot()).toMatchObject({ floor: 0, holes: [], inFlight: 3 })
    expect([nonce, await markers(devnet, account)]).toEqual([0, []])

    await rpc(devnet.url, 'eth_sendRawTransaction', await sign(devnet, account, nonce))
    await second.sender.drain()
    expect(await markers(devnet, account)).toEqual([0, 2, 3])
    expect(second.events('gapFilled')).toEqual([])
  })

  test('row 11: a nonce that outside code never used is filled once its time is over', async () => {
    fresh()
    const shelf = sqlite()
    const first = mortal(shelf)
    await first.allocator.reserve()
    await first.sender.send(transfer(2), { id: 'above' })
    await first.kill()

    const second = await nextLife(shelf, { limits: { reservationTtlMs: 1_000 } })
    await (await known(second, 'above')).wait('sealed')
    expect(await markers(devnet, account)).toEqual([0, 2])
    await until(() => second.events('gapFilled').length > 0)
    expect(second.events('gapFilled')).toMatchObject([{ nonce: 0 }])
  })
})
