import { type Clock, type Random, stoppableClock } from '../../platform/clock.js'
import { type LaneKey, laneName, type Store } from '../../types/store.js'
import { type Database, within } from './database.js'
import type { PgClient } from './driver.js'

type Changed = (sequence?: number) => void

type Watchers = Pick<Store, 'watch'> & { stop(): void }

/** Listens on one connection while any lane is watched. */
export function createWatchers(options: Omit<ListenOptions, 'onNotice'>): Watchers {
  const byLane = new Map<string, Set<Changed>>()
  let hangUp: (() => void) | undefined

  /**
   * The notification contains a lane's name, and its newest sequence if an entry arrived. A watcher that
   * knows this sequence need not read.
   */
  function onNotice(notice: string | undefined): void {
    const [name = '', sequence] = notice?.split(' ') ?? []
    const reported = notice === undefined ? [...byLane.values()] : [byLane.get(name) ?? []]
    // Copied, because a watcher may remove itself.
    for (const watcher of reported.flatMap((watchers) => [...watchers]))
      watcher(sequence === undefined ? undefined : Number(sequence))
  }

  function forget(name: string, watcher: Changed): void {
    const watchers = byLane.get(name)
    watchers?.delete(watcher)
    if (watchers?.size === 0) byLane.delete(name)
    if (byLane.size > 0) return
    hangUp?.()
    hangUp = undefined
  }

  return {
    watch(lane: LaneKey, changed: Changed) {
      const name = laneName(lane)
      // Wrapped, so that the same function can be registered twice.
      const own: Changed = (sequence) => changed(sequence)
      byLane.set(name, (byLane.get(name) ?? new Set()).add(own))
      hangUp ??= listen({ ...options, onNotice })
      return () => forget(name, own)
    },
    stop() {
      byLane.clear()
      hangUp?.()
      hangUp = undefined
    },
  }
}

type ListenOptions = {
  readonly database: Pick<Database, 'connect' | 'connectionsMax'>
  readonly channel: string
  /** Listening does not keep the process alive. */
  readonly clock: Clock
  readonly random: Random
  /**
   * Called with the payload of a notification; with undefined if notifications may have been missed while
   * disconnected.
   */
  readonly onNotice: (notice: string | undefined) => void
}

const BACKOFF_MS = [100, 200, 400, 800, 1_600, 3_200, 5_000] as const
/** The interval at which watchers are called while no connection listens. */
const POLL_MS = 1_000
/**
 * The interval of a test query, because a silently broken connection looks like one without notifications.
 */
const HEARTBEAT_MS = 15_000
const ANSWER_MS = 5_000

/**
 * Listens on a connection of its own until it is stopped, and reconnects when it breaks. While there is no
 * connection, every watcher is called each second. They are called once more after a reconnect, because
 * notifications were missed in between.
 */
function listen({ database, channel, clock: given, random, onNotice }: ListenOptions): () => void {
  const clock = stoppableClock(given)
  let stopped = false
  let hearing = false
  let hangUp = () => {}

  function look(): void {
    if (!hearing) onNotice(undefined)
    clock.setTimer(look, POLL_MS)
  }

  async function keepListening(): Promise<void> {
    // The only connection is needed for queries.
    if ((await database.connectionsMax().catch(() => undefined)) === 1) return
    for (let failures = 0; !stopped; failures++) {
      if (await listenOnce()) failures = 0
      const most = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? POLL_MS
      await new Promise<void>((resolve) => clock.setTimer(resolve, most * (0.5 + random() / 2)))
    }
  }

  /** Returns true, after listening has ended, if it had started. */
  async function listenOnce(): Promise<boolean> {
    const client = await database.connect().catch(() => undefined)
    if (client === undefined || stopped) {
      client?.release(true)
      return false
    }
    const over = new Promise<false>((resolve) => {
      hangUp = () => resolve(false)
      client.on('end', hangUp)
      client.on('error', hangUp)
    })
    try {
      client.unref?.()
      const begun = within(clock, ANSWER_MS, client.query({ text: `LISTEN "${channel}"` }))
      client.on('notification', ({ payload }: { payload?: string | undefined }) => heard(payload))
      hearing = (await Promise.race([begun.then(() => true), over])) && !stopped
      if (!hearing) return false
      onNotice(undefined)
      beat(client, hangUp)
      await over
      return true
    } catch {
      return false
    } finally {
      hearing = false
      client.release(true)
    }
  }

  function heard(payload: string | undefined): void {
    if (!stopped) onNotice(payload)
  }

  function beat(client: PgClient, broken: () => void): void {
    clock.setTimer(() => {
      within(clock, ANSWER_MS, client.query({ text: 'SELECT 1' })).then(() => beat(client, broken), broken)
    }, HEARTBEAT_MS)
  }

  clock.setTimer(look, POLL_MS)
  void keepListening()

  return () => {
    stopped = true
    hearing = false
    clock.stop()
    hangUp()
  }
}
