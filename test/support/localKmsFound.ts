import type { TestProject } from 'vitest/node'
import { findLocalKms, NO_LOCAL_KMS } from '../kms/emulator/localKms.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of the binary; undefined if there is none. */
    localKms: string | undefined
  }
}

/** Does not build local-kms, because a build needs Go and takes a minute. */
export default function localKmsFound(project: TestProject): void {
  const file = findLocalKms()
  if (file === undefined) {
    if (process.env.TXLANE_REQUIRE_LOCAL_KMS) throw new Error(NO_LOCAL_KMS)
    process.stdout.write(`The tests on an emulator of AWS KMS are left out: ${NO_LOCAL_KMS}\n`)
  }
  project.provide('localKms', file)
}
