import { systemClock } from '../../src/platform/clock.js'
import { within } from '../../test/demo/within.js'

// Three times the duration of the slowest subject on a small machine: a turn without an end by then is stuck.
const TURN_LIMIT_MS = 180_000

export type Turn = {
  /** 0 or less for warm-up rounds, which do not count. */
  readonly round: number
  readonly place: number
}

/**
 * Runs the subjects in turns, in a different order in each round, so that the load of the machine and the
 * leftovers of a turn affect all alike. A failure is noted, and the subject has no value for that round.
 */
export async function takeTurns<subject extends { readonly name: string }, value>(options: {
  readonly subjects: readonly subject[]
  readonly rounds: number
  /** Number of warm-up rounds. @default 1 */
  readonly warmUps?: number
  readonly run: (subject: subject, turn: Turn) => Promise<value>
  readonly show: (value: value) => string
  readonly say: (line: string) => void
}): Promise<{
  readonly values: ReadonlyMap<string, readonly value[]>
  readonly failures: readonly string[]
}> {
  const { subjects, rounds, warmUps = 1, run, show, say } = options
  const values = new Map(subjects.map(({ name }) => [name, [] as value[]]))
  const failures: string[] = []
  for (let round = 1 - warmUps; round <= rounds; round++) {
    for (const [place, subject] of inTurn(subjects, round).entries()) {
      const about = `${round > 0 ? `round ${round}` : 'warm-up'}, ${subject.name}`
      try {
        const value = await within(systemClock, TURN_LIMIT_MS, run(subject, { round, place }))
        if (value === 'late') throw new Error(`no end after ${TURN_LIMIT_MS / 1_000} s`)
        if (round > 0) values.get(subject.name)?.push(value)
        say(`${about}: ${show(value)}`)
      } catch (error) {
        const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
        failures.push(`${about}: ${why}`)
        say(`${about}: FAILED: ${why}`)
      }
    }
  }
  return { values, failures }
}

/**
 * The list with another start and another step in each round, so that no subject always follows the same one.
 */
export function inTurn<subject>(subjects: readonly subject[], round: number): readonly subject[] {
  const count = Math.max(1, subjects.length)
  const steps = Array.from({ length: count }, (_, index) => index + 1).filter((step) =>
    isCoprime(step, count),
  )
  const step = steps[modulo(round, steps.length)] ?? 1
  return subjects.map((_, place) => subjects[modulo(round + place * step, count)] as subject)
}

/** Only a coprime step visits every subject. */
function isCoprime(a: number, b: number): boolean {
  return b === 0 ? a === 1 : isCoprime(b, a % b)
}

function modulo(number: number, by: number): number {
  return ((number % by) + by) % by
}
