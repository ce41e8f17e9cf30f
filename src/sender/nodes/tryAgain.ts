import type { Clock } from '../../clock.js'
import { isTxlaneError, type TxlaneError } from '../../errors/base.js'
import type { RpcError } from '../../rpc/errors.js'

const TRIES = 3
const PAUSE_MS = 250
/** Who asks to be left alone for longer is asked again all the same, rather than keep the caller waiting. */
const PAUSE_MS_MAX = 2_000
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
      if (tried === TRIES || stopped() || !isWorthAsking(error)) throw error
      const wantedMs = Math.min(PAUSE_MS_MAX, wordOf(error).retryAfterMs ?? 0)
      const pauseMs = Math.max(PAUSE_MS * tried, wantedMs)
      await new Promise<void>((resolve) => void clock.setTimer(resolve, pauseMs))
    }
  }
}

/** A wrong chain or a refused key stays what it is. */
export function isWorthAsking(error: unknown): boolean {
  if (!isTxlaneError(error) || error.code !== 'REJECTED') return false
  const { status } = wordOf(error)
  return status === undefined || status < 400 || status >= 500 || PASSING_STATUSES.has(status)
}

/** What the endpoint said, in the error or in its cause. */
function wordOf(error: unknown): Partial<RpcError> {
  const { cause } = error as TxlaneError
  return isTxlaneError(cause) ? wordOf(cause) : (error as Partial<RpcError>)
}
