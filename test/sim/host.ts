import type { Random } from '../../src/platform/clock.js'
import type { SimChain } from './chain/simChain.js'
import { markerOf } from './ids.js'
import type { Violation } from './oracle.js'
import { LANE } from './outside.js'
import { type Machine, type Process, startProcess } from './process.js'
import { programOf } from './program.js'
import { chance } from './random.js'
import type { OpenSimStore } from './simStore.js'
import type { CreateSubject, Subject, SubjectAlarm, SubjectEnvironment } from './subjectTypes.js'
import type { SimTransaction } from './transaction.js'

// An operator takes a while to check, and resolves only final transactions.
const RESUME_AFTER_MS = 2_000
const RESOLVE_AFTER_MS = 15_000
const EXPIRES_AT_ONCE = 0.7

export type HostOptions = {
  readonly create: CreateSubject
  readonly machine: Omit<Machine, 'store'>
  readonly world: Omit<SubjectEnvironment, keyof Machine | 'random'>
  /** A random stream for each life of the process. */
  readonly random: (life: number) => Random
  readonly chain: SimChain
  /** Each life opens the store for itself. */
  readonly openStore: () => OpenSimStore
  readonly crashed: () => void
  readonly restarted: (subject: Subject) => void
}

/** Runs the sender's process, kills it, restarts it, and acts as its operator. */
export type Host = {
  readonly subject: Subject
  /** True after a hold which shows that the chain went beyond the promises. */
  readonly beyond: boolean
  crash(downMs: number): void
  /** The process is stopped for a while, and does not notice. */
  stop(forMs: number): void
  /** Starts a killed process at once. */
  up(): Promise<void>
  /** Called after its close: a violation if it left timers or listeners. */
  leftBehind(): Violation[]
}

export function createHost(options: HostOptions): Host {
  const { create, machine, world, chain } = options
  let lives = 0
  // True if the lease of an ended life expires at once; otherwise the next life waits for it.
  let expires = true
  let beyond = false
  let process: Process
  let store: OpenSimStore
  let cont: { readonly cancel: () => void } | undefined
  let subject: Subject
  let down: { readonly cancel: () => void } | undefined
  begin()

  function begin(): void {
    store = options.openStore()
    process = startProcess({ ...machine, store: store.store })
    const random = options.random(lives++)
    expires = chance(random, EXPIRES_AT_ONCE)
    const { clock, ports, account } = process
    subject = create({ ...world, clock, ports, account, store: process.store, random })
    subject.onAlarm((alarm) => answer(subject, alarm))
  }

  function answer(to: Subject, alarm: SubjectAlarm): void {
    if (alarm.kind === 'unresolved') {
      return act(RESOLVE_AFTER_MS, () => void to.resolve(alarm.id, fateOf(alarm.id)).catch(() => {}))
    }
    if (alarm.reason === 'deepReorg') beyond = true
    act(RESUME_AFTER_MS, () => to.resume())
  }

  function act(afterMs: number, what: () => void): void {
    const mine = process
    machine.clock.setTimer(() => mine.alive && what(), afterMs)
  }

  /** The fate that an operator reads on a block explorer. */
  function fateOf(id: string): 'executed' | 'notExecuted' {
    const marker = markerOf(id)
    const isIt = (tx: SimTransaction) =>
      marker === undefined ? id.endsWith(tx.hash) : tx.from === LANE && programOf(tx)?.marker === marker
    const there = chain.canonical.some(({ executed }) => executed.some(({ tx }) => isIt(tx)))
    return there ? 'executed' : 'notExecuted'
  }

  async function up(): Promise<void> {
    goOn()
    if (down === undefined) return
    down.cancel()
    down = undefined
    if (expires) await store.expire()
    begin()
    options.restarted(subject)
  }

  function goOn(): void {
    cont?.cancel()
    cont = undefined
    process.cont()
  }

  return {
    get subject() {
      return subject
    },
    get beyond() {
      return beyond
    },
    crash(downMs) {
      if (down !== undefined) return
      goOn()
      process.kill()
      options.crashed()
      down = { cancel: machine.clock.setTimer(() => void up(), downMs) }
    },
    stop(forMs) {
      if (down !== undefined || cont !== undefined) return
      process.stop()
      cont = { cancel: machine.clock.setTimer(goOn, forMs) }
    },
    up,
    leftBehind() {
      const { pendingTimers, listeners } = process
      if (pendingTimers + listeners === 0) return []
      return [
        { promise: 'P8', text: `closed, and ${pendingTimers} timers and ${listeners} listeners are left` },
      ]
    },
  }
}
