import { backgroundClock, type Clock, type Random, systemClock, systemRandom } from '../platform/clock.js'

/** What an outbox takes from outside. */
export type OutboxEnvironment = {
  readonly clock: Clock
  /** For what stands for no unfinished work: its timers keep no process alive. */
  readonly background: Clock
  readonly random: Random
  /** A line for the people who run the process. */
  readonly warn: (line: string) => void
}

export const systemEnvironment: OutboxEnvironment = {
  clock: systemClock,
  background: backgroundClock,
  random: systemRandom,
  warn: (line) => console.warn(line),
}
