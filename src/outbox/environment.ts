import { backgroundClock, type Clock, type Random, systemClock, systemRandom } from '../platform/clock.js'

/** The external dependencies of an outbox. */
export type OutboxEnvironment = {
  readonly clock: Clock
  /** A clock for background work: its timers do not keep the process alive. */
  readonly background: Clock
  readonly random: Random
  /** Prints a line for operators. */
  readonly warn: (line: string) => void
}

export const systemEnvironment: OutboxEnvironment = {
  clock: systemClock,
  background: backgroundClock,
  random: systemRandom,
  warn: (line) => console.warn(line),
}
