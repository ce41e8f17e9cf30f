import { TxlaneError } from './base.js'
import { redactText } from './redact.js'

/** Bad input: names the argument and the value. Thrown before anything is sent, reserved or stored. */
export function invalid(argument: string, value: unknown, expected: string): TxlaneError {
  return new TxlaneError(`Invalid ${argument}: expected ${expected}, got ${show(value)}.`, {
    code: 'INVALID',
    fate: 'notExecuted',
    metaMessages: [`Argument: ${argument}`],
  })
}

const SHOWN_MAX = 80

/** A value as it may stand in a message: short, with nothing that could be a key. */
function show(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return showString(value)
    case 'bigint':
      return `${value}n`
    case 'function':
      return 'a function'
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? `an array of ${value.length}` : 'an object'
    default:
      return String(value)
  }
}

function showString(value: string): string {
  // 32 bytes of hex may be a private key that slipped into the wrong argument: never echo them.
  if (/[0-9a-fA-F]{64}/.test(value)) return `a string of ${value.length} characters`
  const text = redactText(value)
  return JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text)
}
