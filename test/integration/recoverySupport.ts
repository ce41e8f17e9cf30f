import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Libsql from 'libsql'
import type { Address, Hash, Hex, LocalAccount } from 'viem'
import { createNonceAllocatorIn, type NonceAllocator } from '../../src/api/allocators/allocator.js'
import * as runtime from '../../src/api/runtime.js'
import { createSenderIn } from '../../src/api/sender/sender.js'
import { withoutLane } from '../../src/api/sender/simLane.fixture.js'
import { clientPortsOf } from '../../src/chain/endpoints/clientPortsOf.js'
import { createShared, type Environment } from '../../src/chain/environment.js'
import type { Sender, SenderEvents, Store, Tx, TxlaneError } from '../../src/index.js'
import { eventNames } from '../../src/lane/emitter.js'
import { type Clock, systemClock, systemRandom } from '../../src/platform/clock.js'
import type { Port, RpcReply } from '../../src/rpc/port.js'
import { sqliteStore } from '../../src/store/sqlite/index.js'
import { defaultLimits } from '../../src/validate/validateLane.js'
import type { Devnet } from '../../tools/devnet/index.js'
import { startProcess } from '../sim/process.js'
import { pause } from '../support/pause.js'
import { askAll, rpc } from './devnetSupport.js'

/** The place where lanes are stored between lives. */
export type Shelf = {
  readonly kind: string
  /** Opens a new store for each life, as separate processes do. */
  open(): Store
  /**
   * Expires the lease of a killed life. A lease lasts ten seconds (LEASE_MS in src/ownership/heartbeat.ts),
   * too long to wait for in a test, so the row is moved into the past.
   */
  expire(): Promise<void>
}

export type SqliteShelf = Shelf & { readonly path: string; dispose(): void }

export function sqliteShelf(): SqliteShelf {
  const folder = mkdtempSync(join(tmpdir(), 'txlane-recovery-'))
  const path = join(folder, 'lanes.db')
  return { ...sqliteShelfAt(path), dispose: () => rmSync(folder, { recursive: true, force: true }) }
}

export function sqliteShelfAt(path: string): Shelf & { readonly path: string } {
  return {
    kind: 'sqlite',
    path,
    open: () => sqliteStore({ path }),
    async expire() {
      const database = new Libsql(path)
      database.exec('UPDATE lane SET until_ms = 0')
      database.close()
    },
  }
}

export type LifeOptions = {
  readonly devnet: Devnet
  readonly account: LocalAccount
  readonly shelf: Shelf
  /** Used in place of a store that the shelf opens. */
  readonly store?: Store
  /** Offset of the life's clock to the machine's. */
  readonly laterMs?: number
  /** If true, signed bytes do not reach the node: the connection breaks before. Reads work. */
  readonly cutOff?: boolean
  /** Awaited before bytes are sent. */
  readonly beforeSend?: (raws: readonly Hex[]) => Promise<void>
  readonly limits?: object
}

/** One life of a process that sends for an account. It shares nothing with other lives. */
export type Life = {
  readonly sender: Sender
  readonly store: Store
  /** An allocator of the same lane. */
  readonly allocator: NonceAllocator
  /** The raw transactions that were sent to the endpoint, in order. */
  readonly sent: readonly Hex[]
  events(event: keyof SenderEvents): readonly Record<string, unknown>[]
  /** The number of background failures. Repeated failures are reported as a count. */
  failures(): number
  /** Like kill -9: pending work never completes, and the lease stays taken. */
  kill(): Promise<void>
  close(): Promise<void>
}

const POLL_MS = 20
const BROKEN: RpcReply = { ok: false, failure: { kind: 'network', message: 'socket hang up' } }

export function startLife(options: LifeOptions): Life {
  const { devnet, account, shelf, laterMs = 0, beforeSend, cutOff = false } = options
  const client = devnet.client(devnet.accounts.findIndex(({ address }) => address === account.address))
  const store = options.store ?? shelf.open()
  const sent: Hex[] = []
  const own = clientPortsOf(systemClock, defaultLimits)(client, {})
  const process = startProcess({ clock: later(laterMs), account, store, ports: own.map(watched) })
  const environment: Environment = {
    clock: process.clock,
    random: systemRandom,
    portsOf: () => process.ports,
    runtime: () => runtime,
    shared: createShared(),
  }
  const limits = { pollIntervalMs: 50, stuckAfterMs: 300, gapFillAfterMs: 200, ...options.limits }
  const common = { client: client as never, store: process.store, limits }
  const sender = createSenderIn(environment, { ...common, account: process.account })
  const allocator = createNonceAllocatorIn<number>(environment, {
    ...common,
    address: account.address,
    lossDepth: 'child',
  })
  const reported: { readonly event: string; readonly payload: Record<string, unknown> }[] = []
  for (const event of eventNames)
    sender.on(event, (payload) => void reported.push({ event, payload: { ...payload } }))

  function watched({ port, role }: (typeof own)[number]) {
    const batch: Port['batch'] = async (calls, batchOptions) => {
      const raws = calls.filter(({ method }) => method === 'eth_sendRawTransaction')
      const bytes = raws.map(({ params }) => params[0] as Hex)
      if (bytes.length > 0) await beforeSend?.(bytes)
      sent.push(...bytes)
      if (bytes.length > 0 && cutOff) return calls.map(() => BROKEN)
      return port.batch(calls, batchOptions)
    }
    // Not copied, because its counters are read while it works.
    return { role, port: Object.create(port, { batch: { value: batch } }) as Port }
  }

  async function letGo(): Promise<void> {
    for (const { port } of own) port.close()
    await store.close()
  }

  return {
    sender,
    store,
    allocator,
    sent,
    events: (event) =>
      reported.filter((one) => one.event === event).map(({ payload }) => withoutLane(payload)),
    failures: () =>
      reported
        .filter((one) => one.event === 'error')
        .reduce((sum, { payload }) => sum + Number(payload.times), 0),
    async kill() {
      process.kill()
      await letGo()
    },
    async close() {
      await sender.close()
      await allocator.close()
      await letGo()
    },
  }
}

function later(byMs: number): Clock {
  return { ...systemClock, now: () => systemClock.now() + byMs, wallNow: () => systemClock.wallNow() + byMs }
}

/** Polls until the condition holds, or until the test times out. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(POLL_MS)
}

/** Waits until this many more blocks are sealed. */
export async function blocks(devnet: Devnet, count: number): Promise<void> {
  const head = async () => Number(await rpc<Hex>(devnet.url, 'eth_blockNumber'))
  const target = (await head()) + count
  await until(async () => (await head()) >= target)
}

export type Landed = { readonly nonce: number; readonly hash: Hash; readonly marker: number }

const NOBODY: Address = '0x00000000000000000000000000000000000000aa'

/** A transfer that is identified by its value. */
export function transfer(marker: number) {
  return { to: NOBODY, value: BigInt(marker), gas: 21_000n } as const
}

/**
 * Every executed transaction of the account in sealed blocks, read from their bodies, in nonce order. A
 * transaction that is not a transfer of these tests has the marker 0: a no-op, or a foreign one.
 */
export async function landed(devnet: Devnet, { address }: LocalAccount): Promise<Landed[]> {
  const head = Number(await rpc<Hex>(devnet.url, 'eth_blockNumber'))
  const found: Landed[] = []
  for (let first = 0; first <= head; first += 100) {
    const numbers = Array.from({ length: Math.min(100, head - first + 1) }, (_, index) => first + index)
    const replies = await askAll(
      devnet.url,
      numbers.map((number) => ['eth_getBlockByNumber', `0x${number.toString(16)}`, true]),
    )
    for (const { result } of replies) {
      const { transactions } = result as { transactions: Record<string, string>[] }
      for (const { from, to, nonce, hash, value } of transactions) {
        if (from !== address.toLowerCase()) continue
        const marker = to === NOBODY ? Number(value) : 0
        found.push({ nonce: Number(nonce), hash: hash as Hash, marker })
      }
    }
  }
  return found.sort((a, b) => a.nonce - b.nonce)
}

/** The markers alone. */
export async function markers(devnet: Devnet, account: LocalAccount): Promise<number[]> {
  return (await landed(devnet, account)).map(({ marker }) => marker)
}

export async function known(life: Life, id: string): Promise<Tx> {
  const tx = await life.sender.get(id)
  if (tx === undefined) throw new Error(`nothing is known of ${id}`)
  return tx
}

export async function rejection(promise: Promise<unknown>): Promise<TxlaneError> {
  return promise.then(
    () => Promise.reject(new Error('it resolved')),
    (error: TxlaneError) => error,
  )
}
