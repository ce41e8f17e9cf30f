import { redactTyped } from '../../../src/errors/redact.js'
import { widthOf, wrapped } from './output.js'

/**
 * Exit codes of a command. `failed`: the command did not succeed, and its output gives the reason.
 * `badOptions`: nothing was started. `refused`: the file, its journal or the answer at the prompt forbids the
 * run, and nothing was sent. `interrupted`: the user stopped the run; the journal has everything that was
 * sent.
 */
export const EXIT = { held: 0, failed: 1, badOptions: 2, refused: 3, interrupted: 130 } as const

/** Ends a command before it sends anything. Printed without a stack. */
export class Refusal extends Error {
  override name = 'Refusal'
}

/** Result of parsing the command line. */
export type Parsed<options> =
  | { readonly kind: 'run'; readonly options: options }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'bad'; readonly message: string }

/** Runs the command, or prints its help or the error. Resolves to the exit code. */
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
      process.stderr.write(onScreen(`${parsed.message}\nSee ${command} --help`))
      return EXIT.badOptions
    case 'run':
      return run(parsed.options)
    default:
      return parsed satisfies never
  }
}

/** Resolves once the pipe has accepted the text: an earlier exit would truncate it. */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/**
 * Ends the process with the exit code, even with open handles. `what` names the command in the message of an
 * error.
 */
export function endWith(code: Promise<number>, what: string, shown: 'message' | 'stack'): void {
  code.then(
    (ended) => process.exit(ended),
    (error: unknown) => {
      if (error instanceof Refusal) {
        process.stderr.write(onScreen(redactTyped(error.message)))
        process.exit(EXIT.refused)
      }
      process.stderr.write(onScreen(`${what} failed: ${redactTyped(textOf(error, shown))}`))
      process.exit(EXIT.failed)
    },
  )
}

const onScreen = (text: string): string => `${wrapped(text, widthOf(process.stderr))}\n`

function textOf(error: unknown, shown: 'message' | 'stack'): string {
  if (!(error instanceof Error)) return String(error)
  return shown === 'stack' ? (error.stack ?? error.message) : error.message
}
