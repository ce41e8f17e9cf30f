import type { Tell } from '../asks.js'

/**
 * Writes to the pipe, or to its buffer. A killed process may therefore have reported less than it knows, but
 * never more.
 */
export function tell(what: Tell): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}
