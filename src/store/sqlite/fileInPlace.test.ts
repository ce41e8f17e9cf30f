import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { LaneKey, Lease, Store } from '../../types/store.js'
import { liveIn, transactionIn } from '../contract/samples.js'
import { isReplaced } from '../replaced.js'
import { isSame } from './open.js'
import { sqliteStore } from './sqliteStore.js'

const root = mkdtempSync(join(tmpdir(), 'txlane-in-place-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let folders = 0
const newFolder = () => {
  const folder = join(root, String(++folders))
  mkdirSync(folder)
  return folder
}
const lane: LaneKey = { chainId: 31_337, genesisHash: `0x${'00'.repeat(32)}`, address: '0xaa' }
const FILES = ['', '-wal', '-shm']
const open = (path: string) => sqliteStore({ path, synchronous: 'NORMAL' })

async function leading(path = join(newFolder(), 'lanes.db')) {
  const store = open(path)
  const lease = (await store.acquire(lane, 'me', 60_000)) as Lease
  await store.enqueue([transactionIn(lane, 'before')])
  return { path, store, lease }
}

const change = { slots: [liveIn(lane, 0, 'before', 'b1')], transactions: [], cursor: 1 }

/** Each store method, called so that it would write or read. */
const verbs: Record<string, (store: Store, lease: Lease) => Promise<unknown>> = {
  acquire: (store) => store.acquire(lane, 'me', 60_000),
  renew: (store) => store.renew('me', 60_000),
  release: (store, lease) => store.release(lease),
  load: (store, lease) => store.load(lease),
  write: (store, lease) => store.write(lease, change),
  enqueue: (store) => store.enqueue([transactionIn(lane, 'after')]),
  command: (store) => store.postCommand(lane, 'before', { kind: 'cancel' }),
  arrivals: (store) => store.arrivals(lane, 0, 10),
  changes: (store) => store.changes(lane, 0, 10),
  find: (store) => store.find(lane, { id: 'before' }),
  list: (store) => store.list([lane], { limit: 10 }),
}

async function expectReplaced(promise: Promise<unknown>, path: string): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE', fate: 'inFlight' })
  expect(isReplaced(error)).toBe(true)
  expect((error as Error).message).toContain(path)
  expect((error as Error).message).toContain('deleted, moved or replaced while it was open')
}

// Windows does not allow deleting or renaming a file that SQLite has open.
describe.skipIf(process.platform === 'win32')('an open file that is no longer the one at its path', () => {
  it.each<[string, (path: string) => void]>([
    ['was deleted with its log', (path) => FILES.forEach((suffix) => void rmSync(`${path}${suffix}`))],
    ['was deleted alone', (path) => rmSync(path)],
    ['was moved', (path) => renameSync(path, `${path}.old`)],
    [
      'is in a folder that was moved',
      (path) => renameSync(join(path, '..'), join(path, '..', '..', `moved${++folders}`)),
    ],
    ['lost its log', (path) => rmSync(`${path}-wal`)],
    ['lost the index of its log', (path) => rmSync(`${path}-shm`)],
  ])('%s: every method rejects with STORE', async (_, remove) => {
    const { path, store, lease } = await leading()
    remove(path)
    for (const verb of Object.values(verbs)) await expectReplaced(verb(store, lease), path)
  })

  it('was replaced by the file of another process: that process leads, and no write of the first gets in', async () => {
    const { path, store, lease } = await leading()
    for (const suffix of FILES) renameSync(`${path}${suffix}`, `${path}.old${suffix}`)
    const other = open(path)
    expect(await other.acquire(lane, 'other', 60_000)).toMatchObject({ epoch: 1 })
    for (const verb of Object.values(verbs)) await expectReplaced(verb(store, lease), path)
    expect((await other.list([lane], { limit: 10 })).items).toEqual([])
    await store.close()
    // Closing the first store must not affect the file that the second has open.
    await other.enqueue([transactionIn(lane, 'there')])
    expect((await open(path).find(lane, { id: 'there' }))?.id).toBe('there')
  })

  it('was put back: the store continues, and writes refused meanwhile are absent', async () => {
    const { path, store, lease } = await leading()
    renameSync(path, `${path}.old`)
    for (const verb of Object.values(verbs)) await expectReplaced(verb(store, lease), path)
    renameSync(`${path}.old`, path)
    expect((await store.list([lane], { limit: 10 })).items.map(({ id }) => id)).toEqual(['before'])
    expect(await store.load(lease)).toMatchObject({ slots: [], cursor: undefined })
    expect((await store.arrivals(lane, 0, 10)).commands).toEqual([])
    await store.write(lease, change)
    expect((await store.load(lease)).cursor).toBe(1)
  })

  it('is behind a link that now points elsewhere', async () => {
    const folder = newFolder()
    const path = join(folder, 'link.db')
    await open(join(folder, 'first.db')).renew('me', 1)
    symlinkSync(join(folder, 'first.db'), path)
    const { store, lease } = await leading(path)
    await store.write(lease, change)
    await open(join(folder, 'second.db')).acquire(lane, 'other', 60_000)
    rmSync(path)
    symlinkSync(join(folder, 'second.db'), path)
    await expectReplaced(store.write(lease, change), path)
  })
})

describe('a missing file whose log still exists', () => {
  it('is not created again: the log has the last commits, and its process may be running', async () => {
    const { path, store } = await leading()
    rmSync(path)
    const other = open(path)
    const refused = other.acquire(lane, 'other', 60_000)
    await expect(refused).rejects.toMatchObject({ code: 'STORE', fate: 'inFlight' })
    await expect(other.acquire(lane, 'other', 60_000)).rejects.toThrow(`${path}-wal`)
    expect(() => statSync(path)).toThrow('ENOENT')
    await store.close()
    rmSync(`${path}-wal`)
    expect(await other.acquire(lane, 'other', 60_000)).toMatchObject({ epoch: 1 })
  })
})

describe('files are distinguished by their numbers', () => {
  const file = (ino: bigint, dev = 1n) => ({ dev, ino, size: 0n })

  it.each([
    ['the same', file(7n), file(7n), true],
    ['another number', file(7n), file(8n), false],
    ['the same number on another disk', file(7n), file(7n, 2n), false],
    // Above the exact integers of a JavaScript number; NTFS has such numbers.
    ['numbers that differ in the last of 64 bits', file(2n ** 63n), file(2n ** 63n + 1n), false],
    ['missing', file(7n), undefined, false],
    ['never there', undefined, file(7n), true],
    ['without a number, as on FAT', file(0n), file(0n), true],
    ['without a number, and missing', file(0n), undefined, false],
  ])('%s', (_, opened, now, same) => {
    expect(isSame(opened, now)).toBe(same)
  })
})
