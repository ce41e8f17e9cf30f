import type { CancelTimer, Clock } from '../../platform/clock.js'
import { fastestOf, PACES, type Pace } from './follower.js'

/** Runs ticks one after the other, each when it is due. Nothing but a new send makes one due below the interval. */
export type Loop = {
  /**
   * A new transaction is on its way: ticks now, or as soon as the tick under way is done. For that alone, since
   * nothing else may tick below the interval.
   */
  lookNow(): void
  /** Plans one more tick, an interval after the last one began at the earliest, whatever pace is asked for. */
  wake(): void
  /** Resolves after the next tick that brought a head; plans it as `wake` does. */
  nextTick(): Promise<void>
  /** Called after each tick in which a sealed block joined. Ticks once a block for it, no sooner. */
  onHead(listener: () => void): () => void
  /**
   * Plans the next tick anew: what decides about its time has changed. The next turn of the event loop does it, so that a
   * transaction that is about to be sent leaves first.
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
  /** The paces that are asked for now. */
  readonly paces: () => Iterable<Pace>
  /** When the next tick begins at such paces; undefined for never. */
  readonly next: (paces: ReadonlySet<Pace>) => number | undefined
  readonly broken: (error: unknown) => void
}): Loop {
  const { clock } = options
  const ticks: (() => void)[] = []
  const heads = new Set<() => void>()
  let cancel: CancelTimer | undefined
  // The next turn plans the next tick.
  let cancelPlanning: CancelTimer | undefined
  let running = false
  // A tick is about to begin: nothing plans it for later.
  let starting = false
  // A transaction was sent during the tick under way.
  let again = false
  // One more tick is wanted, at the interval.
  let due = false
  let stopped = false
  // The pace that the next tick was planned at.
  let plannedFor: ReturnType<typeof fastestOf>

  async function run(): Promise<void> {
    running = true
    again = false
    due = false
    await options.tick().catch(options.broken)
    running = false
    schedule(inNextTurn)
  }

  function pacesNow(): Set<Pace> {
    const paces = new Set(options.paces())
    if (due || ticks.length > 0) paces.add('cadence')
    if (heads.size > 0) paces.add('block')
    return paces
  }

  /** Once for all who ask in this turn. What was planned before stands until then. */
  function plan(): void {
    if (stopped || running || starting || cancelPlanning) return
    cancelPlanning = clock.setTimer(() => schedule(start), 0)
  }

  /** `begin` is called where the next tick is due by now. No tick begins in the turn of the caller who wants it. */
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

  /** What looked so closely may be over by now: then the next tick is planned anew. */
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
      // What is about to leave leaves first.
      cancel = clock.setTimer(start, 0)
    },
    wake() {
      due = true
      plan()
    },
    nextTick() {
      if (stopped) return Promise.resolve()
      const done = new Promise<void>((resolve) => void ticks.push(resolve))
      plan()
      return done
    },
    onHead(listener) {
      heads.add(listener)
      plan()
      return () => void heads.delete(listener)
    },
    plan,
    brought(newHead) {
      for (const done of ticks.splice(0)) done()
      if (newHead) for (const listener of [...heads]) listener()
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
      for (const done of ticks.splice(0)) done()
    },
  }
}
