import type { Tell } from '../asks.js'

/** In the pipe, or in line for it: a process that is killed has told less than it knows, and never more. */
export function tell(what: Tell): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}
