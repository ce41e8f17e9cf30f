import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createSenderIn } from '../api/sender/sender.js'
import { openLane, type SimLane, transfer } from '../api/sender/simLane.fixture.js'
import { createShared } from '../chain/environment.js'
import { sqliteStore } from '../store/sqlite/sqliteStore.js'

const folder = mkdtempSync(join(tmpdir(), 'txlane-replaced-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const HEARTBEAT_MS = 10_000 / 3
const IDS = Array.from({ length: 10 }, (_, index) => `payout ${index}`)
const FILES = ['', '-wal', '-shm']

/** Open: loading the driver takes real time, which the virtual clock knows nothing of. */
async function openStore(path: string) {
  const store = sqliteStore({ path, synchronous: 'NORMAL' })
  await store.renew('nobody', 1)
  return store
}

async function openLeader() {
  const path = join(folder, `${++files}.db`)
  const store = await openStore(path)
  return { path, store, lane: await openLane({ store }) }
}

/** Another process, with the same key and path. */
async function openBeside(lane: SimLane, path: string) {
  const environment = { ...lane.environment, shared: createShared() }
  const sender = createSenderIn(environment, { ...lane.parameters, store: await openStore(path) })
  await lane.settle(sender.ready())
  return sender
}

const sendAll = (sender: SimLane['sender']) =>
  IDS.map((id, index) => sender.send(transfer(index + 1), { id, until: 'queued' }))

describe.skipIf(process.platform === 'win32')(
  'the SQLite file is replaced while a process leads on it',
  () => {
    test('the lane holds within a heartbeat, with nothing to write, and reports STORE', async () => {
      const { path, lane } = await openLeader()
      await using _ = lane
      for (const suffix of FILES) rmSync(`${path}${suffix}`)
      await lane.clock.advance(3 * HEARTBEAT_MS)
      expect(lane.events('held')).toEqual([
        { reason: 'storeReplaced', detail: expect.stringContaining(`The store ${path} does not work`) },
      ])
      const errors = lane.events('error')
      expect(errors.length).toBeGreaterThan(0)
      // The heartbeat and the reads of the inbox, each at its interval.
      expect(errors.length).toBeLessThan(15)
      for (const one of errors) expect(one).toMatchObject({ error: { code: 'STORE' } })
      expect((await lane.snapshot()).holds).toEqual(['storeReplaced'])
    })

    test('P7, P2: of two processes one leads, and no id is paid twice', async () => {
      const { path, lane } = await openLeader()
      await using _ = lane
      await lane.settle(lane.sender.send(transfer(99)).then((tx) => tx.wait('sealed')))
      for (const suffix of FILES) rmSync(`${path}${suffix}`)
      const other = await openBeside(lane, path)
      const refused = Promise.allSettled(sendAll(lane.sender))
      const taken = sendAll(other)
      for (const one of await lane.settle(refused))
        expect(one).toMatchObject({ status: 'rejected', reason: { code: 'STORE', fate: 'inFlight' } })
      for (const tx of await lane.settle(Promise.all(taken))) await lane.settle(tx.wait('sealed'))
      await lane.blocks(10)
      expect(lane.executed()).toEqual([99, ...IDS.map((_, index) => index + 1)])
      expect((await lane.snapshot()).holds).toContain('storeReplaced')
      expect((await lane.settle(other.snapshot())).holds).toEqual([])
      await lane.settle(other.close())
    })

    test('P6: a transaction that was queued, but not journaled when the file was replaced, is never sent', async () => {
      const { path, lane } = await openLeader()
      await using _ = lane
      lane.sender.pause()
      await lane.settle(lane.sender.send(transfer(1), { id: 'early', until: 'queued' }))
      for (const suffix of FILES) rmSync(`${path}${suffix}`)
      lane.sender.resume()
      await lane.blocks(10)
      expect(lane.sent).toEqual([])
      expect((await lane.snapshot()).holds).toContain('storeReplaced')
    })

    test('after the file is restored the hold is lifted, and the lane goes on', async () => {
      const { path, lane } = await openLeader()
      await using _ = lane
      renameSync(path, `${path}.old`)
      await lane.clock.advance(HEARTBEAT_MS + 10)
      renameSync(`${path}.old`, path)
      await lane.clock.advance(HEARTBEAT_MS)
      expect(lane.events('released')).toEqual([{ reason: 'storeReplaced' }])
      const tx = await lane.settle(lane.sender.send(transfer(1)))
      await lane.settle(tx.wait('sealed'))
    })
  },
)
