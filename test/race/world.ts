import type { Scheduler } from 'fast-check'
import type { Client, Hex } from 'viem'
import { createNonceAllocatorIn, type NonceAllocator } from '../../src/api/allocators/allocator.js'
import * as runtime from '../../src/api/runtime.js'
import { createSenderIn, type LooseParameters } from '../../src/api/sender/sender.js'
import { createShared, type Environment } from '../../src/chain/environment.js'
import type { Limits, Sender } from '../../src/types/index.js'
import { createChain } from '../sim/chain/chain.js'
import type { SimChain } from '../sim/chain/simChain.js'
import { foreignTransaction } from '../sim/foreign.js'
import { createRandom } from '../sim/random.js'
import { createSimClient, simSignatures } from '../sim/simClient.js'
import { createStubAccount } from '../sim/stubAccount.js'
import { decodeTransaction } from '../sim/transaction.js'
import { createVirtualClock, type VirtualClock } from '../sim/virtualClock.js'
import { createGatedAccount, type GatedAccount } from './gatedAccount.js'
import { type Carries, createGatedPort, type GatedPort, type Says } from './gatedPort.js'
import { createGatedStore, type GatedStore, type Takes } from './gatedStore.js'
import { createGates, draws, type Gates } from './gates.js'

export const LANE = '0x00000000000000000000000000000000000000aa'
const NEIGHBOUR = '0x00000000000000000000000000000000000000bb'
const ONE_ETHER = 10n ** 18n

/** The faults, in order; afterwards there are none. */
export type Luck = {
  readonly says: readonly Says[]
  readonly carries: readonly Carries[]
  readonly writes: readonly Takes[]
  readonly ids: readonly Takes[]
  readonly signs: readonly boolean[]
}

const NO_LUCK: Luck = { says: [], carries: [], writes: [], ids: [], signs: [] }

export type WorldOptions = {
  readonly rules?: 'base' | 'geth'
  readonly limits?: Partial<Limits>
  readonly luck?: Partial<Luck>
}

type Process = {
  sender(): Sender
  allocator(): NonceAllocator
  /** A sender of another account, through the same connection. */
  neighbour(): Sender
}

/**
 * Real senders and allocators on a simulated chain. Every answer, and the passing of time, waits for the
 * schedule.
 */
export type World = Process & {
  readonly clock: VirtualClock
  readonly chain: SimChain
  readonly gates: Gates
  readonly port: GatedPort
  readonly store: GatedStore
  readonly account: GatedAccount
  /** `reported` is called for each row of the table that a lane takes. */
  readonly rows: { reported: ((row: number) => void) | undefined }
  /** Another process on the same store and chain. */
  process(): Omit<Process, 'neighbour'>
  /** Puts a foreign transaction of the same key into the next block. */
  foreign(salt: number): void
  /** From now on the schedule picks the next event, time included. */
  shut(): void
  /** Lets the schedule pick until `done`, or until the given number of picks. */
  play(picks: number, done: () => boolean): Promise<void>
  /** Releases everything that waits for the schedule, and ends all faults. */
  heal(): Promise<void>
  /** After `heal`: runs the clock until the promise settles. @throws if it does not */
  settle<T>(promise: Promise<T>, what: string, maxMs?: number): Promise<T>
  /**
   * After `heal`: sends all journaled bytes, because any process may do so at any later time (P2). Call it
   * when everything is closed; it reports the remaining timers.
   */
  aftermath(): Promise<void>
}

export function createWorld(scheduler: Scheduler, options: WorldOptions = {}): World {
  const { rules = 'base', limits = {} } = options
  const luck = { ...NO_LUCK, ...options.luck }
  const clock = createVirtualClock()
  const gates = createGates(scheduler)
  const chain = createChain({
    clock,
    random: createRandom(1),
    accounts: ([LANE, NEIGHBOUR] as const).map((address) => ({ address, balanceWei: ONE_ETHER })),
    rules,
    // A time step is one pick of the schedule, so a few of them must make a block.
    flashblockMs: 1_000,
  })
  const drawn = {
    says: draws(luck.says, 'takes it'),
    carries: draws(luck.carries, 'both ways'),
    writes: draws(luck.writes, 'takes'),
    ids: draws(luck.ids, 'takes'),
    signs: draws(luck.signs, true),
  }
  const port = createGatedPort({ chain, clock, gates, ...drawn })
  const store = createGatedStore(gates, drawn)
  const account = createGatedAccount(LANE, gates, drawn.signs)
  const rows: World['rows'] = { reported: undefined }
  const process = createProcesses({ clock, chain, port, store, account, limits, rows })
  let timeIsDue = false

  /** Time takes part in the schedule: a pick fires the next timer. */
  function keepTime(): void {
    if (!gates.shut) return
    void gates.pass('time').then(() => {
      timeIsDue = true
    })
  }

  async function fireNext(): Promise<void> {
    timeIsDue = false
    const before = clock.firedTimers
    await clock.runUntil(() => clock.firedTimers > before, 60_000)
    keepTime()
  }

  const first = process()
  chain.start()
  return {
    clock,
    chain,
    gates,
    port,
    store,
    account,
    rows,
    ...first,
    process,
    foreign: (salt) =>
      chain.force({
        from: LANE,
        make: (nonce) =>
          foreignTransaction({
            chainId: chain.settings.chainId,
            from: LANE,
            nonce,
            maxFeeWei: 10n ** 9n,
            tipWei: 10n ** 6n,
            salt,
          }),
      }),
    shut() {
      gates.shutNow()
      keepTime()
    },
    async play(picks, done) {
      for (let pick = 0; pick < picks && !done(); pick++) {
        if (!(await gates.one())) break
        await clock.settle()
        if (timeIsDue) await fireNext()
      }
    },
    async heal() {
      for (const each of Object.values(drawn)) each.stop()
      await gates.open()
      await clock.settle()
      timeIsDue = false
    },
    async settle(promise, what, maxMs = 600_000) {
      let open = true
      const watched = promise.finally(() => {
        open = false
      })
      watched.catch(() => {})
      await clock.runUntil(() => !open, maxMs)
      if (open) throw new Error(`P8: ${what} is still open after ${maxMs} ms`)
      return watched
    },
    async aftermath() {
      await clock.advance(5_000)
      for (const raw of new Set<Hex>([...store.journaled, ...port.wire])) {
        if (!port.barred.has(raw) && decodeTransaction(raw)) chain.submit(raw)
      }
      await clock.advance(10_000)
      chain.stop()
    },
  }
}

/** Makes processes on one store and chain. */
function createProcesses(
  world: Pick<World, 'clock' | 'chain' | 'port' | 'store' | 'account' | 'rows'> & {
    readonly limits: Partial<Limits>
  },
): () => Process {
  const { clock, chain, port, store, account, limits, rows } = world
  const client = createSimClient({
    port: port.connect(),
    chainId: chain.settings.chainId,
    account,
  }) as unknown as Client
  const parameters = {
    client: client as never,
    store,
    limits,
    lossDepth: 'child',
    coldStart: 'immediate',
  } as const satisfies LooseParameters
  let processes = 0

  return () => {
    const environment: Environment = {
      clock,
      random: createRandom(100 + processes++),
      portsOf: () => [{ port: port.connect(), role: 'both' }],
      runtime: () => runtime,
      signatures: simSignatures,
      shared: createShared(),
      probe: { row: (row) => rows.reported?.(row), outcome: () => {} },
    }
    return {
      sender: () => createSenderIn(environment, parameters),
      neighbour: () => createSenderIn(environment, { ...parameters, account: createStubAccount(NEIGHBOUR) }),
      allocator: () => createNonceAllocatorIn(environment, { ...parameters, address: LANE }),
    }
  }
}
