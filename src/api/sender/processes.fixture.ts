import { createShared, type Environment } from '../../chain/environment.js'
import { eventNames } from '../../lane/emitter.js'
import type { Clock } from '../../platform/clock.js'
import type { Port } from '../../rpc/port.js'
import { memoryStore } from '../../store/memory.js'
import type { Sender, SenderEvents } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import { createSenderIn, type LooseParameters } from './sender.js'
import { openLane, type SimLane, type SimLaneOptions, withoutLane } from './simLane.fixture.js'

/** A process from the point of view of the lane: it shares only the store and the chain with other processes. */
export type Process = {
  readonly sender: Sender
  readonly environment: Environment
  readonly store: Store
  readonly reported: readonly { event: keyof SenderEvents; payload: Record<string, unknown> }[]
  events(event: keyof SenderEvents): readonly Record<string, unknown>[]
  /** Stops the process: no request to the store or the node is executed before `thaw`. */
  freeze(): void
  thaw(): void
  /** Whether its store answers. */
  storeIs(answering: boolean): void
  /** Whether its node answers. */
  nodeIs(up: boolean): void
}

export type Processes = AsyncDisposable & {
  readonly lane: SimLane
  readonly shared: Store
  /** Starts a process. `own`: options of this process alone. */
  start(own?: Partial<LooseParameters>): Process
  /** Two open processes. The first one owns the lane. */
  pair(): Promise<readonly [Process, Process]>
}

/** Several senders of one account over one store that outlives them. */
export async function openProcesses(options: SimLaneOptions = {}): Promise<Processes> {
  let now = () => 0
  const shared: Store = { ...memoryStore({ now: () => now() }), durable: true }
  const lane = await openLane({ ...options, store: shared, closed: true })
  // As with SQLite, whose processes share the wall clock of their machine.
  now = lane.clock.wallNow
  lane.chain.start()
  const processes: Process[] = []

  function start(own: Partial<LooseParameters> = {}): Process {
    const gate = createGate()
    const answers = createGate()
    let nodeUp = true
    const port: Port = {
      ...lane.port,
      async batch(calls, batchOptions) {
        await gate.pass()
        if (nodeUp) return lane.port.batch(calls, batchOptions)
        await new Promise<void>((resolve) => lane.clock.setTimer(resolve, 100))
        return calls.map(() => ({ ok: false, failure: { kind: 'network', message: 'refused' } }))
      },
    }
    const environment: Environment = {
      ...lane.environment,
      clock: gate.clockOf(lane.clock),
      shared: createShared(),
      portsOf: () => [{ port, role: 'both' }],
    }
    const store = gated(gated(shared, answers), gate)
    const sender = createSenderIn(environment, { ...lane.parameters, ...own, store })
    const reported: { event: keyof SenderEvents; payload: Record<string, unknown> }[] = []
    for (const event of eventNames)
      sender.on(
        event,
        (payload) => void reported.push({ event, payload: payload as Record<string, unknown> }),
      )
    const started: Process = {
      sender,
      environment,
      store,
      reported,
      events: (event) =>
        reported.filter((one) => one.event === event).map(({ payload }) => withoutLane(payload)),
      freeze: gate.close,
      thaw: gate.open,
      storeIs: (answering) => (answering ? answers.open() : answers.close()),
      nodeIs(up) {
        nodeUp = up
      },
    }
    processes.push(started)
    return started
  }

  return {
    lane,
    shared,
    start,
    async pair() {
      const [first, second] = [start(), start()]
      await lane.settle(first.sender.ready())
      await lane.settle(second.sender.ready())
      return [first, second]
    },
    async [Symbol.asyncDispose]() {
      lane.script = undefined
      for (const { thaw, nodeIs, storeIs } of processes) {
        thaw()
        storeIs(true)
        nodeIs(true)
      }
      await lane.settle(Promise.all(processes.map(({ sender }) => sender.close())))
      await lane[Symbol.asyncDispose]()
    },
  }
}

function createGate() {
  let closed = false
  let waiting: (() => void)[] = []
  return {
    /** Timers that come due while the process is frozen fire when it is thawed. */
    clockOf: (clock: Clock): Clock => ({
      now: clock.now,
      wallNow: clock.wallNow,
      setTimer(fn, delayMs) {
        let cancelled = false
        const cancel = clock.setTimer(() => {
          if (!closed) return fn()
          waiting.push(() => {
            if (!cancelled) fn()
          })
        }, delayMs)
        return () => {
          cancelled = true
          cancel()
        }
      },
    }),
    async pass() {
      if (closed) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    close() {
      closed = true
    },
    open() {
      closed = false
      for (const go of waiting.splice(0)) go()
      waiting = []
    },
  }
}

/** The store executes requests from before the freeze. The process gets the answers after the thaw. */
function gated(store: Store, gate: ReturnType<typeof createGate>): Store {
  const verbs = Object.fromEntries(
    Object.entries(store).map(([name, verb]) => {
      if (typeof verb !== 'function' || name === 'watch' || name === 'close') return [name, verb]
      const call = verb as (...given: unknown[]) => Promise<unknown>
      return [
        name,
        async (...given: unknown[]) => {
          await gate.pass()
          const answer = await call(...given)
          await gate.pass()
          return answer
        },
      ]
    }),
  )
  return verbs as unknown as Store
}
