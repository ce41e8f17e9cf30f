import { forkBuilt } from '../test/support/forkBuilt.js'
import type { Task } from './claimProcess.js'
import type { ClaimName } from './claims/index.js'
import type { BenchOptions } from './options.js'
import type { ClaimResult, Results } from './result.js'

/** Runs the claims one after the other: two at once would influence each other. */
export async function runClaims(options: BenchOptions): Promise<Results> {
  const results: Partial<Record<ClaimName, ClaimResult>> = {}
  for (const name of options.claims) results[name] = await runClaim(name, options)
  return results
}

function runClaim(
  name: ClaimName,
  { rounds, transactions, presigned, parts }: BenchOptions,
): Promise<ClaimResult> {
  const task: Task = { rounds, transactions, presigned, parts }
  const child = forkBuilt(new URL('claimProcess.ts', import.meta.url), [name, JSON.stringify(task)], {
    // Claims that measure memory force garbage collections.
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  return new Promise((resolve) => {
    child.once('message', (result: ClaimResult) => {
      child.removeAllListeners('exit')
      child.once('exit', () => resolve(result))
    })
    child.once('error', (error) => resolve({ failed: error.message }))
    child.once('exit', (code, signal) => resolve({ failed: `its process ended with ${signal ?? code}` }))
  })
}
