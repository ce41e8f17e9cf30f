import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import { transactionIn } from '../../src/store/contract/samples.js'
import { sqliteStore } from '../../src/store/sqlite/sqliteStore.js'
import { bundledChild } from '../support/bundleChild.js'
import { LANE } from './sqliteWorker.js'

const program = bundledChild(new URL('sqliteWorker.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'txlane-sqlite-processes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const newPath = () => join(folder, `${++files}.db`)

type Said = {
  nonce?: number
  fresh?: string
  seen?: number
  code?: string
  details?: string
  message?: string
  slots?: number
}

type Worker = { readonly said: Said[]; readonly child: ChildProcess; readonly ended: Promise<unknown> }

/** `blocksMax` is the largest file that the process may write, in blocks of 512 bytes. */
function start(job: string, path: string, name: string, blocksMax?: number): Worker {
  const command = [process.execPath, program, job, path, name]
  const limited = ['sh', '-c', `ulimit -f ${blocksMax} && exec "$@"`, 'sh', ...command]
  const [file = '', ...rest] = blocksMax === undefined ? command : limited
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said: Said[] = []
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  lines.on('line', (line) => said.push(JSON.parse(line) as Said))
  const ended = Promise.all([
    new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code))),
    new Promise<void>((resolve) => lines.on('close', resolve)),
  ]).then(([how]) => how)
  return { said, child, ended }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('processes that share a file', () => {
  it('P7: two processes that take the lane in turn never hand out a nonce twice, and skip none', async () => {
    const path = newPath()
    const workers = ['a', 'b'].map((name) => start('nonces', path, name))
    expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0])
    const nonces = workers.flatMap(({ said }) => said.map(({ nonce }) => nonce as number))
    expect(nonces.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, nonce) => nonce))
    const store = sqliteStore({ path })
    const lease = await store.acquire(LANE, 'me', 60_000)
    expect((await store.load(lease as NonNullable<typeof lease>)).slots).toHaveLength(200)
    await store.close()
  })

  it('one of several that enqueue the same id is answered that it is fresh, the others that it is known', async () => {
    const path = newPath()
    const workers = ['a', 'b', 'c'].map((name) => start('ids', path, name))
    expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0, 0])
    const fresh = workers.flatMap(({ said }) => said.map((one) => one.fresh))
    expect([fresh.length, new Set(fresh).size]).toEqual([1_000, 1_000])
  })

  it('a watching process is notified of a transaction that another process enqueued', async () => {
    const path = newPath()
    const watcher = start('watch', path, 'w')
    await until(() => watcher.said.length > 0)
    const store = sqliteStore({ path })
    await store.enqueue([transactionIn(LANE, 'a')])
    expect(await watcher.ended).toBe(0)
    expect(watcher.said.at(-1)).toEqual({ seen: 1 })
    await store.close()
  })

  it('P6: everything that a process had been promised before its kill is there, each write whole', async () => {
    const path = newPath()
    const worker = start('endless', path, 'killed')
    await until(() => worker.said.length >= 100)
    worker.child.kill('SIGKILL')
    await worker.ended
    const store = sqliteStore({ path })
    const lease = await store.acquire(LANE, 'killed', 60_000)
    const { slots, cursor, transactions } = await store.load(lease as NonNullable<typeof lease>)
    expect(slots.length).toBeGreaterThanOrEqual(worker.said.length)
    expect(cursor).toBe(slots.length)
    expect(transactions.filter(({ hash }) => hash !== undefined)).toHaveLength(slots.length)
    await store.close()
  })
})

describe('a disk that rejects a write', () => {
  it.skipIf(process.platform === 'win32')(
    'full: STORE, no part of that write is stored, and all earlier writes are',
    async () => {
      const path = newPath()
      const worker = start('endless', path, 'full', 1_000)
      expect(await worker.ended).toBe(0)
      const end = worker.said.at(-1)
      expect(end).toMatchObject({ code: 'STORE', message: expect.stringContaining(path) })
      const store = sqliteStore({ path })
      const lease = await store.acquire(LANE, 'full', 60_000)
      const { slots } = await store.load(lease as NonNullable<typeof lease>)
      expect([slots.length, end?.slots]).toEqual([end?.nonce, end?.nonce])
      expect((await store.enqueue([transactionIn(LANE, 'later')]))[0]?.fresh).toBe(true)
      await store.close()
    },
  )
})
