import type { LocalAccount } from 'viem'
import type { CancelTimer, Clock } from '../../src/platform/clock.js'
import type { EndpointRole, NotificationListener, Port } from '../../src/rpc/port.js'
import type { Store } from '../../src/types/store.js'

export type Machine = {
  readonly clock: Clock
  readonly ports: readonly { readonly port: Port; readonly role: EndpointRole }[]
  readonly account: LocalAccount
  readonly store: Store
  /**
   * A millisecond passes after this many reads of the clock: work takes time, and no timer fires meanwhile.
   * @default never
   */
  readonly looksPerMs?: number | undefined
}

/** A machine as one process sees it, until the process is killed. */
export type Process = Machine & {
  readonly alive: boolean
  /** Pending timers: a process that has closed everything leaves none. */
  readonly pendingTimers: number
  /** Listeners to announced heads: it leaves none of them either. */
  readonly listeners: number
  /**
   * Like kill -9: its timers never fire, and no pending answer, signature or commit reaches it. Sent bytes
   * stay sent.
   */
  kill(): void
  /** Like SIGSTOP and SIGCONT: answers and timers that come meanwhile are delivered afterwards. */
  stop(): void
  cont(): void
}

/** Stands between a sender and the machine, so that the sender can be killed or stopped at any moment. */
export function startProcess(machine: Machine): Process {
  const timers = new Set<CancelTimer>()
  const listeners = new Set<() => void>()
  let alive = true
  let stopped = false
  let held: (() => void)[] = []

  const { looksPerMs = Number.POSITIVE_INFINITY } = machine
  let looks = 0

  /** The process's own work takes time on this clock; on the machine's clock only waiting does. */
  const now = (): number => machine.clock.now() + Math.floor(++looks / looksPerMs)

  /** Calls it now, or when the process continues; never if it is dead by then. */
  function whenRunning(what: () => void): void {
    if (stopped) held.push(() => alive && what())
    else if (alive) what()
  }

  /** A promise that never settles after the death of the process. */
  function whileAlive<T>(begin: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const begun = () =>
        void begin().then(
          (value) => whenRunning(() => resolve(value)),
          (error: unknown) => whenRunning(() => reject(error)),
        )
      whenRunning(begun)
    })
  }

  const clock: Clock = {
    now,
    wallNow: machine.clock.wallNow,
    setTimer(fn, delayMs) {
      if (!alive) return () => {}
      const off = machine.clock.setTimer(() => {
        if (stopped) return void held.push(() => timers.has(off) && fire())
        fire()
      }, delayMs)
      const fire = () => {
        timers.delete(off)
        fn()
      }
      timers.add(off)
      return () => {
        timers.delete(off)
        off()
      }
    },
  }

  function portOf(port: Port): Port {
    return {
      name: port.name,
      kind: port.kind,
      get stats() {
        return port.stats
      },
      notifications: port.notifications && {
        ...port.notifications,
        listen: lived(port.notifications.listen, listeners, whenRunning),
      },
      batch: (calls, options) => whileAlive(() => port.batch(calls, options)),
      // The machine's port outlives a sender that closes its own and opens others.
      close() {},
    }
  }

  function storeOf({ kind, durable, watch, ...verbs }: Store): Store {
    const methods = Object.entries(verbs).map(([verb, call]) => {
      const act = call as (...args: unknown[]) => Promise<unknown>
      return [verb, (...args: unknown[]) => whileAlive(() => act(...args))]
    })
    const watched: Store['watch'] = (lane, changed) =>
      watch(lane, (sequence) => whenRunning(() => changed(sequence)))
    return { kind, durable, watch: watched, ...Object.fromEntries(methods) } as Store
  }

  return {
    clock,
    ports: machine.ports.map(({ port, role }) => ({ port: portOf(port), role })),
    account: {
      ...machine.account,
      signTransaction: (...args: Parameters<LocalAccount['signTransaction']>) =>
        whileAlive(() => machine.account.signTransaction(...args)),
    } as LocalAccount,
    store: storeOf(machine.store),
    get alive() {
      return alive
    },
    get pendingTimers() {
      return timers.size
    },
    get listeners() {
      return listeners.size
    },
    kill() {
      alive = false
      for (const off of timers) off()
      timers.clear()
      for (const off of [...listeners]) off()
      held = []
    },
    stop() {
      stopped = true
    },
    cont() {
      stopped = false
      for (const go of held.splice(0)) go()
    },
  }
}

type Listen = NonNullable<Port['notifications']>['listen']

/** Notifications reach a process while it runs; `listeners` contains what removes each listener. */
function lived(listen: Listen, listeners: Set<() => void>, whenRunning: (what: () => void) => void): Listen {
  return (listener: NotificationListener) => {
    const whenListening = (what: () => void) => whenRunning(() => listeners.has(off) && what())
    const offPort = listen({
      notified: (id, result) => whenListening(() => listener.notified(id, result)),
      closed: () => whenListening(() => listener.closed()),
    })
    const off = () => {
      listeners.delete(off)
      offPort()
    }
    listeners.add(off)
    return off
  }
}
