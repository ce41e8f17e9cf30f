import { writeSync } from 'node:fs'
import type { Tell } from '../asks.js'

/** In the pipe when it returns: what was told before the end of the process was told. */
export function tell(what: Tell): void {
  writeSync(1, `${JSON.stringify(what)}\n`)
}
