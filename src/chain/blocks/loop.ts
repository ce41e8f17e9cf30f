import type { CancelTimer, Clock } from '../../platform/clock.js'
import { fastestOf, PACES, type Pace } from './follower.js'

/**
 * Runs ticks one after the other, each when it is due. Only a new send makes a tick due before the interval
 * is over.
 */
export type Loop = {
  /**
   * A new transaction is on its way: ticks now, or as soon as the present tick is done. Call it only for
   * that, because nothing else may tick below the interval.
   */
  lookNow(): void
  /**
   * Plans one more tick, at the earliest an interval after the start of the last one, for any requested pace.
   */
  wake(): void
  /** Resolves after the next tick that brought a head, and plans it as `wake` does. */
  nextTick(): Promise<void>
  /**
   * Calls the listener after each tick in which a sealed block joined. It causes one tick per block, and none
   * sooner.
   */
  onHead(listener: () => void): () => void
  /**
   * Plans the next tick again, because an input of its time has changed. The planning happens in the next
   * turn of the event loop, so that a transaction that is about to be sent leaves first.
   */
  plan(): void
  /** A tick brought a head. `newHead`: a sealed block joined. */
  brought(newHead: boolean): void
  readonly planned: boolean
  readonly stopped: boolean
  stop(): void
}

export function createLoop(options: {
  readonly clock: Clock
  readonly tick: () => Promise<void>
  /** The paces that are requested now. */
  readonly paces: () => Iterable<Pace>
  /** When the next tick begins at such paces; undefined for never. */
  readonly next: (paces: ReadonlySet<Pace>) => number | undefined
  readonly broken: (error: unknown) => void
}): Loop {
  const { clock } = options
  const waiters = createTickWaiters()
  let cancel: CancelTimer | undefined
  // The next turn of the event loop plans the next tick.
  let cancelPlanning: CancelTimer | undefined
  let running = false
  // A tick is about to begin, and must not be planned for later.
  let starting = false
  // A transaction was sent during the present tick.
  let again = false
  // One more tick is requested, at the interval.
  let due = false
  let stopped = false
  // The pace for which the next tick was planned.
  let plannedFor: ReturnType<typeof fastestOf>

  async function run(): Promise<void> {
    running = true
    again = false
    due = false
    await options.tick().catch(options.broken)
    running = false
    schedule(inNextTurn)
  }

  const pacesNow = () => waiters.pacesWith(options.paces(), due)

  /** Plans once for all requests of this turn. The earlier plan stays in effect until then. */
  function plan(): void {
    if (stopped || running || starting || cancelPlanning) return
    cancelPlanning = clock.setTimer(() => schedule(start), 0)
  }

  /** Calls `begin` if the next tick is due now. No tick begins in the turn of the caller that requests it. */
  function schedule(begin: () => void): void {
    cancelPlanning?.()
    cancelPlanning = undefined
    if (stopped || running || starting) return
    cancel?.()
    cancel = undefined
    if (again) return start()
    const paces = pacesNow()
    const atMs = options.next(paces)
    if (atMs === undefined) return
    plannedFor = fastestOf(paces)
    const waitMs = atMs - clock.now()
    if (waitMs > 0) cancel = clock.setTimer(fire, waitMs)
    else begin()
  }

  function inNextTurn(): void {
    cancel = clock.setTimer(fire, 0)
  }

  /** The reason for a fast pace may be gone by now: then the next tick is planned again. */
  function fire(): void {
    const pace = fastestOf(pacesNow())
    if (pace && plannedFor && PACES.indexOf(pace) <= PACES.indexOf(plannedFor)) return start()
    cancel = undefined
    schedule(start)
  }

  function start(): void {
    cancel = undefined
    starting = false
    void run()
  }

  return {
    lookNow() {
      if (running) again = true
      if (running || stopped || starting) return
      cancel?.()
      starting = true
      // A send that is about to leave goes first.
      cancel = clock.setTimer(start, 0)
    },
    wake() {
      due = true
      plan()
    },
    nextTick() {
      if (stopped) return Promise.resolve()
      const done = waiters.nextTick()
      plan()
      return done
    },
    onHead(listener) {
      const remove = waiters.onHead(listener)
      plan()
      return remove
    },
    plan,
    brought(newHead) {
      waiters.release()
      if (newHead) waiters.notifyHead()
    },
    get planned() {
      return cancel !== undefined || cancelPlanning !== undefined
    },
    get stopped() {
      return stopped
    },
    stop() {
      stopped = true
      cancel?.()
      cancelPlanning?.()
      waiters.release()
    },
  }
}

/** The callers that wait for the next tick, and the listeners of new heads. */
function createTickWaiters() {
  const ticks: (() => void)[] = []
  const heads = new Set<() => void>()
  return {
    /** The paces, with those that the callers need. `due`: one more tick is requested. */
    pacesWith(paces: Iterable<Pace>, due: boolean): Set<Pace> {
      const all = new Set(paces)
      if (due || ticks.length > 0) all.add('cadence')
      if (heads.size > 0) all.add('block')
      return all
    },
    nextTick: () => new Promise<void>((resolve) => void ticks.push(resolve)),
    onHead(listener: () => void) {
      heads.add(listener)
      return () => void heads.delete(listener)
    },
    release() {
      for (const done of ticks.splice(0)) done()
    },
    notifyHead() {
      for (const listener of [...heads]) listener()
    },
  }
}
