import { TxlaneError } from './base.js'
import { redactForeign, redactText } from './redact.js'

/**
 * The error for a bad argument. It names the argument and the value. Thrown before any request, reservation
 * or write.
 */
export function invalid(argument: string, value: unknown, expected: string): TxlaneError {
  return new TxlaneError(`Invalid ${redactText(argument)}: expected ${expected}, got ${show(value)}.`, {
    code: 'INVALID',
    fate: 'notExecuted',
    isRedacted: true,
    metaMessages: [`Argument: ${argument}`],
  })
}

const SHOWN_MAX = 80

/** The form in which a value may appear in a message: short, and without parts that could be a key. */
export function show(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return showString(value)
    case 'bigint':
      return showBigint(value)
    case 'function':
      return 'a function'
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? `an array of ${value.length}` : 'an object'
    default:
      return String(value)
  }
}

// 32 bytes may be a private key in the wrong argument, so they are never shown.
const KEY_DIGITS = 60

function showBigint(value: bigint): string {
  const digits = (value < 0n ? -value : value).toString(16).length
  return digits >= KEY_DIGITS ? `a bigint of ${digits * 4} bits` : `${value}n`
}

function showString(value: string): string {
  if (new RegExp(`[0-9a-fA-F]{${KEY_DIGITS}}`).test(value)) return `a string of ${value.length} characters`
  const text = redactForeign(value, 'never')
  return JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text)
}
