import { isClaimName, loadClaim } from './claims/index.js'
import type { BenchOptions } from './options.js'
import type { ClaimResult } from './result.js'
import { thisMachine, versions } from './support/machine.js'

// Measures one claim in a separate process, so that no other claim leaves its heap, compiled code or timers
// behind.

export type Task = Pick<BenchOptions, 'rounds' | 'transactions' | 'presigned' | 'parts'>

async function measure(
  name: string,
  { rounds, transactions: asked, presigned, parts }: Task,
): Promise<ClaimResult> {
  if (!isClaimName(name)) throw new Error(`There is no claim "${name}".`)
  const claim = await loadClaim(name)
  const transactions = asked ?? claim.transactions
  const say = (line: string) => process.stderr.write(`${name}: ${line}\n`)
  const outcome = await claim.run({ rounds, transactions, presigned, parts, say })
  if ('leftOut' in outcome) return outcome
  return {
    says: claim.says,
    ...outcome,
    rounds,
    transactions,
    machine: thisMachine(),
    versions: versions(),
    measuredAt: new Date().toISOString(),
  }
}

const [name = '', task = '{}'] = process.argv.slice(2)
// The parent is gone, so the result has no reader.
process.once('disconnect', () => process.exit(1))
void measure(name, JSON.parse(task) as Task)
  .catch((error: unknown) => ({
    failed: error instanceof Error ? (error.stack ?? error.message) : String(error),
  }))
  // Some libraries keep timers and channels open forever, so the process is ended explicitly.
  .then((result) => process.send?.(result, () => process.exit(0)))
