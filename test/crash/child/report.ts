import { writeSync } from 'node:fs'
import type { Report } from '../asks.js'

/** Synchronous: the line is in the pipe when this returns, so a later kill cannot lose it. */
export function report(what: Report): void {
  writeSync(1, `${JSON.stringify(what)}\n`)
}
