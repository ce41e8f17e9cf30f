import type { TestProject } from 'vitest/node'
import { findGeth, NO_GETH } from '../nodes/find/geth.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The binary; undefined where there is none. */
    geth: string | undefined
  }
}

/** Builds none: a test run that fetches a compiler's worth of modules for minutes is not what was asked for. */
export default async function gethFound(project: TestProject): Promise<void> {
  const file = await findGeth()
  if (file === undefined) {
    if (process.env.TXLANE_REQUIRE_GETH) throw new Error(NO_GETH)
    process.stdout.write(`The tests on a real geth are left out: ${NO_GETH}\n`)
  }
  project.provide('geth', file)
}
