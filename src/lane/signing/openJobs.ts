import { NonceMap } from '../../ledger/nonceMap.js'
import { createDoneWaiters } from '../../platform/doneWaiters.js'
import type { Job, JobKind } from './job.js'

/** The jobs from their start until they are journaled or have failed. */
export type OpenJobs = {
  /** Opens the job. False if it is open already, because the table may request the same signature twice. */
  open(job: Job): boolean
  /** The signature of the job is done. */
  signed(job: Job): void
  over(job: Job): void
  readonly count: number
  /** Number of jobs without a signature. */
  readonly unsignedCount: number
  /** Resolves when no job is open. */
  idle(): Promise<void>
}

export function createOpenJobs(): OpenJobs {
  // The token of the newest job of a kind at each nonce.
  const tokens: Readonly<Record<JobKind, NonceMap<number>>> = {
    claim: new NonceMap(),
    noop: new NonceMap(),
    bump: new NonceMap(),
  }
  let count = 0
  let unsignedCount = 0
  const idlers = createDoneWaiters(() => count === 0)

  function signed(job: Job): void {
    if (!job.isSigned) unsignedCount--
    job.isSigned = true
  }

  return {
    open({ kind, nonce, token }) {
      if (tokens[kind].get(nonce) === token) return false
      tokens[kind].set(nonce, token)
      count++
      unsignedCount++
      return true
    },
    signed,
    over(job) {
      const { kind, nonce, token } = job
      if (tokens[kind].get(nonce) === token) tokens[kind].delete(nonce)
      count--
      signed(job)
      idlers.check()
    },
    get count() {
      return count
    },
    get unsignedCount() {
      return unsignedCount
    },
    idle: idlers.add,
  }
}
