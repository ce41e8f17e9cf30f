import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.js'
import type { LaneKey, Lease, Store } from '../../src/types/store.js'
import { type CutProxy, startCutProxy } from '../support/cutProxy.js'
import { leaksOf } from '../support/leaks.js'
import { PASSWORD, startPostgres, type TestPostgres } from '../support/postgres.js'
import { change, ids, keep, liveIn, newLane, rejection, transactionIn, until } from './postgresSamples.js'

// The beginning of each statement of the store, on the wire and in its text.
const WRITE = 'slots_kept'
const HAND = 'handed AS'
const ENQUEUE = 'hashed AS'
const KEPT = 'AS u(chain_id, genesis_hash, id)'

const UNKNOWN = { name: 'TxlaneError', code: 'STORE', fate: 'inFlight', details: 'unknown' }

let server: TestPostgres
let proxy: CutProxy
let store: Store
let lane: LaneKey
let lease: Lease

beforeAll(async () => {
  server = await startPostgres()
  proxy = await startCutProxy(server.port)
})
afterAll(async () => {
  await proxy?.stop()
  await server?.stop()
})
beforeEach(async () => {
  const connectionString = server.connectionString.replace(String(server.port), String(proxy.port))
  store = postgresStore({ connectionString, timeoutMs: 2_000 })
  lane = newLane()
  lease = (await store.acquire(lane, `holder-${lane.address}`, 600_000)) as Lease
})
afterEach(() => store.close())

describe('an answer of PostgreSQL is lost', () => {
  it('row 5: a write that was committed rejects as unknown, and reading again finds it', async () => {
    const [a] = await keep(store, lane, 'a')
    proxy.fail('loseReply', WRITE)
    const slots = [liveIn(lane, 0, 'a', 'a1')]
    const transactions = [{ ...a!, stage: 'signed' as const, nonce: 0 }]
    const error = await rejection(store.write(lease, change({ slots, transactions, cursor: 1 })))
    expect(error).toMatchObject(UNKNOWN)
    expect(await store.load(lease)).toMatchObject({ slots, transactions, cursor: 1 })
  })

  it('row 5: a write that never arrived rejects as unknown, and reading again does not find it', async () => {
    proxy.fail('loseRequest', WRITE)
    const write = store.write(lease, change({ slots: [liveIn(lane, 0, 'a', 'a1')], cursor: 1 }))
    expect(await rejection(write)).toMatchObject(UNKNOWN)
    expect(await store.load(lease)).toMatchObject({ slots: [], cursor: undefined })
  })

  it('row 5: a write that arrives after the lane has been read again is rejected', async () => {
    proxy.fail('holdRequest', WRITE)
    const first = store.write(lease, change({ slots: [liveIn(lane, 0, 'a', 'a1')], cursor: 1 }))
    expect(await rejection(first)).toMatchObject(UNKNOWN)
    expect((await store.load(lease)).slots).toEqual([])
    await proxy.deliver()
    expect((await store.load(lease)).slots).toEqual([])

    const other = [liveIn(lane, 0, 'b', 'b1')]
    await store.write(lease, change({ slots: other, cursor: 1 }))
    expect((await store.load(lease)).slots).toEqual(other)
  })

  it('a write that arrives after a later one cannot undo it', async () => {
    proxy.fail('holdRequest', WRITE)
    await rejection(store.write(lease, change({ slots: [liveIn(lane, 0, 'a', 'a1')], cursor: 1 })))
    const later = [liveIn(lane, 0, 'a', 'a1', 'a2')]
    await store.write(lease, change({ slots: later, cursor: 1 }))
    await proxy.deliver()
    expect((await store.load(lease)).slots).toEqual(later)
  })

  it('a write with the number of a later one, from another pool of the same lease owner, cannot undo it', async () => {
    const beside = postgresStore({ connectionString: server.connectionString })
    proxy.fail('holdRequest', WRITE)
    await rejection(store.write(lease, change({ slots: [liveIn(lane, 0, 'a', 'a1')], cursor: 1 })))
    const later = [liveIn(lane, 0, 'a', 'a1', 'a2')]
    await beside.write(lease, change({ slots: later, cursor: 1 }))
    await proxy.deliver()
    expect((await beside.load(lease)).slots).toEqual(later)
    await beside.close()
  })

  it('a transaction that is handed to another lane with the number of a later write stays in its lane', async () => {
    const [a] = await keep(store, lane, `${lane.address}a`)
    const beside = postgresStore({ connectionString: server.connectionString })
    const to = { ...lane, address: newLane().address }
    const [there] = await keep(store, to, `${to.address}a`)
    proxy.fail('holdRequest', HAND)
    await rejection(store.write(lease, change({ transactions: [{ ...a!, lane: to }] })))
    await beside.write(lease, change({ transactions: [a!] }))
    await proxy.deliver()
    expect(await beside.find(lane, { id: a!.id })).toEqual(a)
    expect((await beside.arrivals(to, 0, 9)).transactions).toEqual([there])
    await beside.close()
  })

  it('a write that arrives after its lease owner has acquired the lane again is rejected as before', async () => {
    proxy.fail('holdRequest', WRITE)
    await rejection(store.write(lease, change({ slots: [liveIn(lane, 0, 'a', 'a1')], cursor: 1 })))
    expect((await store.load(lease)).slots).toEqual([])
    expect(await store.acquire(lane, lease.holder, 600_000)).toEqual(lease)
    await proxy.deliver()
    expect((await store.load(lease)).slots).toEqual([])
  })

  it('a write whose answer never comes rejects as unknown after its timeout', async () => {
    proxy.fail('hang', WRITE)
    expect(await rejection(store.write(lease, change({ cursor: 1 })))).toMatchObject(UNKNOWN)
  })

  it('an enqueue that was committed rejects as unknown, and a second enqueue finds its ids', async () => {
    proxy.fail('loseReply', ENQUEUE)
    const batch = ['a1', 'b1'].map((id) => transactionIn(lane, `${lane.address}${id}`))
    expect(await rejection(store.enqueue(batch))).toMatchObject(UNKNOWN)
    expect((await store.enqueue(batch)).map(({ fresh }) => fresh)).toEqual([false, false])
    expect((await store.arrivals(lane, 0, 10)).transactions).toHaveLength(2)
  })

  it('a batch that is partly kept when the rest fails rejects as unknown', async () => {
    const [known, added] = ['known', 'added'].map((name) => `${lane.address}${name}`)
    await keep(store, lane, known!)
    proxy.fail('loseRequest', KEPT)
    expect(await rejection(keep(store, lane, known!, added!))).toMatchObject(UNKNOWN)
    expect((await store.enqueue([transactionIn(lane, added!)]))[0]?.fresh).toBe(false)

    proxy.fail('loseRequest', KEPT)
    const certain = await rejection(keep(store, lane, known!))
    expect(certain).toMatchObject({ code: 'STORE', fate: 'notExecuted' })
    expect(certain).not.toMatchObject({ details: 'unknown' })
  })

  it('a read that fails is not an unknown result', async () => {
    proxy.fail('loseReply', 't.revision')
    const error = await rejection(store.changes(lane, 0, 10))
    expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE', fate: 'notExecuted' })
    expect(error).not.toMatchObject({ details: 'unknown' })
    expect(await store.changes(lane, 0, 10)).toEqual({ transactions: [], revision: 0 })
  })
})

describe('the server goes away', () => {
  it('restarted during work: everything reported as kept is there once, and watchers are notified again', async () => {
    let hints = 0
    const off = store.watch(lane, () => {
      hints++
    })
    const reported: string[] = []
    const errors: unknown[] = []
    let stopped = false
    const load = (async () => {
      for (let i = 0; !stopped; i++) await keepStubbornly(`${lane.address}-${i}`)
    })()
    async function keepStubbornly(id: string): Promise<void> {
      for (;;) {
        try {
          reported.push(...ids(await keep(store, lane, id)))
          return
        } catch (error) {
          errors.push(error)
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
    }
    await until(() => reported.length > 20)
    await server.restart()
    const before = reported.length
    await until(() => reported.length > before + 20)
    await server.kill()
    await server.start()
    const after = reported.length
    await until(() => reported.length > after + 20)
    stopped = true
    await load

    const { transactions } = await store.load(lease)
    expect(ids(transactions)).toEqual(reported)
    expect(new Set(reported).size).toBe(reported.length)
    for (const error of errors) {
      expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE' })
      expect(leaksOf(error, [PASSWORD])).toEqual([])
    }
    expect(errors.length).toBeGreaterThan(0)
    const heard = hints
    await keep(store, lane, `${lane.address}-last`)
    await until(() => hints > heard)
    off()
  })

  it('a server that disconnects in the same packet in which it reports ready ends no process', async () => {
    const going = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, TERMINATED])))
    })
    await once(going.listen(0, '127.0.0.1'), 'listening')
    const { port } = going.address() as AddressInfo
    const connectionString = server.connectionString.replace(String(server.port), String(port))
    const lost = postgresStore({ connectionString, timeoutMs: 2_000 })
    const error = await rejection(lost.changes(lane, 0, 10))
    await lost.close()
    going.close()
    expect(error).toMatchObject({ name: 'TxlaneError', code: 'STORE', fate: 'notExecuted' })
    expect(leaksOf(error, [PASSWORD])).toEqual([])
  })
})

const AUTHENTICATED = message('R', '\0\0\0\0')
const READY = message('Z', 'I')
const TERMINATED = message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')

function message(kind: string, body: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + body.length)
  return Buffer.concat([Buffer.from(kind), length, Buffer.from(body)])
}
