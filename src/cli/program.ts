import { redactTyped } from '../errors/redact.js'
import { systemClock } from '../platform/clock.js'

/**
 * What a command ends with. `failed`: something did not come about, and the output says what. `badOptions`: nothing was
 * begun. `refused`: the file, its journal or the answer at the prompt forbids it, and nothing was sent. `interrupted`:
 * stopped by the user; what had been sent is in the journal.
 */
export const EXIT = { held: 0, failed: 1, badOptions: 2, refused: 3, interrupted: 130 } as const

/** Ends a command before it begins: shown without a stack. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** What the command line asks for. */
export type Parsed<options> =
  | { readonly kind: 'run'; readonly options: options }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'bad'; readonly message: string }

/** Runs what was asked for, or says what can be. The exit code. */
export async function answer<options>(
  parsed: Parsed<options>,
  command: string,
  run: (options: options) => Promise<number>,
): Promise<number> {
  switch (parsed.kind) {
    case 'help':
      process.stdout.write(parsed.text)
      return EXIT.held
    case 'bad':
      process.stderr.write(`${parsed.message}\nSee ${command} --help\n`)
      return EXIT.badOptions
    case 'run':
      return run(parsed.options)
    default:
      return parsed satisfies never
  }
}

/** Resolves once the pipe has it: ending the process earlier would cut the text. */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** A run that has not ended by then never will. */
export function endAfter(timeMs: number): void {
  systemClock.setTimer(() => {
    process.stderr.write(`The run is stuck: no end after ${Math.round(timeMs / 1_000)} s.\n`)
    process.exit(EXIT.failed)
  }, timeMs)
}

/** Ends the process with that code, whatever is open still. `what` failed where there is none. */
export function endWith(code: Promise<number>, what: string, shown: 'message' | 'stack'): void {
  code.then(
    (ended) => process.exit(ended),
    (error: unknown) => {
      if (error instanceof Refusal) {
        process.stderr.write(`${redactTyped(error.message)}\n`)
        process.exit(EXIT.refused)
      }
      process.stderr.write(`${what} failed: ${redactTyped(textOf(error, shown))}\n`)
      process.exit(EXIT.failed)
    },
  )
}

function textOf(error: unknown, shown: 'message' | 'stack'): string {
  if (!(error instanceof Error)) return String(error)
  return shown === 'stack' ? (error.stack ?? error.message) : error.message
}
