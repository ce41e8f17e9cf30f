import { type Command, CommanderError, Help, InvalidArgumentError, type OptionValues } from 'commander'
import { redactTyped } from '../../../src/errors/redact.js'
import type { Parsed } from './program.js'

export const SEED_MAX = 2 ** 31 - 1

/**
 * Parses the command line. It never throws for bad options and never ends the process. `take` builds the
 * options from the flags and the operands (arguments without a name), and throws `badOption` for an invalid
 * combination.
 */
export function readCommandLine<given extends OptionValues, options>(
  command: Command,
  argv: readonly string[],
  take: (given: given, operands: readonly string[]) => options,
): Parsed<options> {
  let help = ''
  command
    .allowExcessArguments(false)
    .exitOverride()
    .configureHelp(HELP)
    .configureOutput({
      writeOut: (text) => {
        help += text
      },
      writeErr: () => undefined,
    })
  try {
    command.parse(argv as string[], { from: 'user' })
    return { kind: 'run', options: take(command.opts<given>(), command.args) }
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.helpDisplayed') return { kind: 'help', text: help }
    return { kind: 'bad', message: redactTyped(error.message.replace(/^error: /, '')) }
  }
}

const plain = new Help()

/** Wraps in narrow terminals too, and shows no default of a switch that is off. */
const HELP = {
  minWidthToWrap: 20,
  optionDescription: (option: Parameters<Help['optionDescription']>[0]): string =>
    plain.optionDescription(option).replace(/ \(default: (?:false|\[\])\)$/, ''),
}

/** Parses a decimal whole number. */
export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
    }
    return value
  }
}

/** An error for a bad option. Only its message is printed, never the given value. */
export function badOption(message: string): CommanderError {
  return new CommanderError(2, 'badOption', message)
}
