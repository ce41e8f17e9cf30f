import type { Clock } from '../clock.js'
import { isTxlaneError } from '../errors/base.js'
import type { RpcError } from '../rpc/errors.js'

const TRIES = 3
const PAUSE_MS = 250
// Of those that say that the request is at fault, the ones that do not mean it: timeout, too early, too often.
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** What only reads, asked three times before its failure counts: one request that got lost is no reason to give up. */
export async function tryAgain<t>(
  ask: () => Promise<t>,
  { clock, stopped = () => false }: { clock: Clock; stopped?: () => boolean },
): Promise<t> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await ask()
    } catch (error) {
      if (tried === TRIES || stopped() || !mayPass(error)) throw error
    }
    await new Promise<void>((resolve) => void clock.setTimer(resolve, PAUSE_MS * tried))
  }
}

/** A wrong chain or a refused key stays what it is. */
export function mayPass(error: unknown): boolean {
  if (!isTxlaneError(error) || error.code !== 'REJECTED') return false
  const { status, cause } = error as Partial<RpcError>
  if (isTxlaneError(cause)) return mayPass(cause)
  return status === undefined || status < 400 || status >= 500 || PASSING_STATUSES.has(status)
}
