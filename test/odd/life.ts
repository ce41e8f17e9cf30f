import type { LocalAccount } from 'viem'
import type { Clock, Random } from '../../src/platform/clock.js'
import type { Port } from '../../src/rpc/port.js'
import type { Store } from '../../src/types/store.js'
import { type Process, startProcess } from '../sim/process.js'
import type { OpenSimStore } from '../sim/simStore.js'
import type { Subject } from '../sim/subjectTypes.js'
import type { ChainKind } from './chainKinds.js'
import { createOddSender, type OddSender } from './oddSender.js'
import type { Watch } from './watch.js'

/** The process of the sender, across its lives. */
export type Life = {
  readonly current: OddSender
  /** The nonces of which it ever stored anything. */
  readonly kept: ReadonlySet<number>
  /** The number of timers that it had not cancelled when it closed. */
  readonly timersLeft: number
  /** kill -9, and after `downMs` a new process on the same store. */
  restart(downMs: number): void
}

export function createLife(options: {
  readonly clock: Clock
  readonly ports: readonly Port[]
  readonly account: LocalAccount
  readonly openStore: () => OpenSimStore
  readonly kind: ChainKind
  readonly chainId: number
  readonly random: (life: number) => Random
  readonly watch: Watch
  readonly crashed: () => void
  readonly restarted: (subject: Subject) => void
}): Life {
  const { clock, ports, account, kind, chainId, watch } = options
  const kept = new Set<number>()
  let lives = 0
  let process: Process
  let store: OpenSimStore
  let current: OddSender = begin()

  function begin(): OddSender {
    store = options.openStore()
    process = startProcess({
      clock,
      account,
      store: counted(store.store),
      ports: ports.map((port) => ({ port, role: 'both' as const })),
    })
    const random = options.random(lives++)
    const begun = createOddSender({
      process,
      random,
      kind,
      chainId,
      onEvent: watch.onEvent,
      calls: watch,
    })
    watch.look(begun.sender)
    return begun
  }

  /** The same store, which also counts its entries. */
  function counted(inner: Store): Store {
    return {
      ...inner,
      write(held, change) {
        for (const { nonce } of change.slots) kept.add(nonce)
        return inner.write(held, change)
      },
    }
  }

  async function up(): Promise<void> {
    await store.expire()
    current = begin()
    options.restarted(current.subject)
  }

  return {
    kept,
    get current() {
      return current
    },
    get timersLeft() {
      return process.pendingTimers
    },
    restart(downMs) {
      process.kill()
      watch.look(undefined)
      options.crashed()
      clock.setTimer(() => void up(), downMs)
    },
  }
}
