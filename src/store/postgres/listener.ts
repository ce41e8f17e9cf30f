import { type Clock, type Random, stoppableClock } from '../../platform/clock.js'
import { type Database, within } from './database.js'
import type { PgClient } from './driver.js'

export type ListenOptions = {
  readonly database: Pick<Database, 'connect' | 'connectionsMax'>
  readonly channel: string
  /** Whoever listens keeps no process alive by it. */
  readonly clock: Clock
  readonly random: Random
  /** What was said on the channel; undefined: something may have been said that was not heard. */
  readonly onNotice: (notice: string | undefined) => void
}

const BACKOFF_MS = [100, 200, 400, 800, 1_600, 3_200, 5_000] as const
/** How often those who watch are told to look while nothing can be heard. */
const POLL_MS = 1_000
/** A connection that was cut without a word looks like one on which nothing happens. */
const HEARTBEAT_MS = 15_000
const ANSWER_MS = 5_000

/**
 * Listens on a connection of its own until it is called off, and opens another one when it breaks. While it has none,
 * everybody looks each second; and once when it has one again, since what happened in between went unheard.
 */
export function listen({ database, channel, clock: given, random, onNotice }: ListenOptions): () => void {
  const clock = stoppableClock(given)
  let stopped = false
  let hearing = false
  let hangUp = () => {}

  function look(): void {
    if (!hearing) onNotice(undefined)
    clock.setTimer(look, POLL_MS)
  }

  async function keepListening(): Promise<void> {
    // Its one connection is needed for what is to be read and written.
    if ((await database.connectionsMax().catch(() => undefined)) === 1) return
    for (let failures = 0; !stopped; failures++) {
      if (await listenOnce()) failures = 0
      const most = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? POLL_MS
      await new Promise<void>((resolve) => clock.setTimer(resolve, most * (0.5 + random() / 2)))
    }
  }

  /** True where it came to listening, once that is over. */
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
