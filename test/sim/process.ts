import type { LocalAccount } from 'viem'
import type { CancelTimer, Clock } from '../../src/clock.js'
import type { EndpointRole, Port } from '../../src/rpc/port.js'
import type { Store } from '../../src/store/store.js'

export type Machine = {
  readonly clock: Clock
  readonly ports: readonly { readonly port: Port; readonly role: EndpointRole }[]
  readonly account: LocalAccount
  readonly store: Store
}

/** A machine as one process sees it, until the process is killed. */
export type Process = Machine & {
  readonly alive: boolean
  /** Timers that are set and have not fired: a process that has closed everything leaves none. */
  readonly pendingTimers: number
  /**
   * As kill -9: its timers never fire, and no answer, signature or commit that was under way reaches it. What it
   * sent is sent.
   */
  kill(): void
}

/** Stands between a sender and the machine, so that the sender can be killed at any moment. */
export function startProcess(machine: Machine): Process {
  const timers = new Set<CancelTimer>()
  const unwatch = new Set<() => void>()
  let alive = true

  /** What comes after the death of the process never comes. */
  function whileAlive<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => alive && resolve(value),
        (error: unknown) => alive && reject(error),
      )
    })
  }

  const clock: Clock = {
    now: machine.clock.now,
    setTimer(fn, delayMs) {
      if (!alive) return () => {}
      const off = machine.clock.setTimer(() => {
        timers.delete(off)
        fn()
      }, delayMs)
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
      batch: (calls, options) => (alive ? whileAlive(port.batch(calls, options)) : NEVER),
      // The machine's port outlives a sender that closes its own and opens others.
      close() {},
    }
  }

  function storeOf({ kind, durable, watch, ...verbs }: Store): Store {
    const lived = Object.entries(verbs).map(([verb, call]) => {
      const act = call as (...args: unknown[]) => Promise<unknown>
      return [verb, (...args: unknown[]) => (alive ? whileAlive(act(...args)) : NEVER)]
    })
    return { kind, durable, watch: watchWith(watch), ...Object.fromEntries(lived) } as Store
  }

  /** The one verb that answers at once, and calls back: not after the death of the process. */
  function watchWith(watch: Store['watch']): Store['watch'] {
    return (lane, changed) => {
      if (!alive) return () => {}
      const off = watch(lane, changed)
      unwatch.add(off)
      return () => {
        unwatch.delete(off)
        off()
      }
    }
  }

  return {
    clock,
    ports: machine.ports.map(({ port, role }) => ({ port: portOf(port), role })),
    account: {
      ...machine.account,
      signTransaction: (...args: Parameters<LocalAccount['signTransaction']>) =>
        alive ? whileAlive(machine.account.signTransaction(...args)) : NEVER,
    } as LocalAccount,
    store: storeOf(machine.store),
    get alive() {
      return alive
    },
    get pendingTimers() {
      return timers.size
    },
    kill() {
      alive = false
      for (const off of [...timers, ...unwatch]) off()
      timers.clear()
      unwatch.clear()
    },
  }
}

const NEVER = new Promise<never>(() => {})
