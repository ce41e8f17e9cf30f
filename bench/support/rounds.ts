import { within } from '../../src/cli/demo/within.js'
import { systemClock } from '../../src/platform/clock.js'

// Three times what the slowest takes on a small machine: whoever has no end by then has none.
const TURN_LIMIT_MS = 180_000

export type Turn = {
  /** 0 and less for those that warm up and do not count. */
  readonly round: number
  readonly place: number
}

/**
 * Lets the subjects take turns, round by round, each round in another order: what the machine does meanwhile, and what a
 * turn leaves behind, falls on all alike. What a subject fails is noted, and it has no value of that round.
 */
export async function takeTurns<subject extends { readonly name: string }, value>(options: {
  readonly subjects: readonly subject[]
  readonly rounds: number
  /** Rounds that go before and do not count. @default 1 */
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

/** The list, begun at another place each round, and in another order: nobody always comes after the same. */
export function inTurn<subject>(subjects: readonly subject[], round: number): readonly subject[] {
  const count = Math.max(1, subjects.length)
  const steps = Array.from({ length: count }, (_, index) => index + 1).filter((step) =>
    isCoprime(step, count),
  )
  const step = steps[modulo(round, steps.length)] ?? 1
  return subjects.map((_, place) => subjects[modulo(round + place * step, count)] as subject)
}

/** Only with such a step does everybody have a turn. */
function isCoprime(a: number, b: number): boolean {
  return b === 0 ? a === 1 : isCoprime(b, a % b)
}

function modulo(number: number, by: number): number {
  return ((number % by) + by) % by
}
