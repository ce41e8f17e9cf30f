import type { TestProject } from 'vitest/node'
import { findGeth, NO_GETH } from '../nodes/find/geth.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of the binary; undefined if there is none. */
    geth: string | undefined
  }
}

/**
 * Does not build geth, because a build downloads Go modules for minutes, which a test run should not start
 * by itself.
 */
export default async function gethFound(project: TestProject): Promise<void> {
  const file = await findGeth()
  if (file === undefined) {
    if (process.env.TXLANE_REQUIRE_GETH) throw new Error(NO_GETH)
    process.stdout.write(`The tests on a real geth are left out: ${NO_GETH}\n`)
  }
  project.provide('geth', file)
}
