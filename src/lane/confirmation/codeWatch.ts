import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { type AccountKind, accountKind } from '../../rpc/codec.js'
import { getCode } from '../../rpc/methods/state.js'
import type { Limits } from '../../types/index.js'

type CodeWatchContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'reader'>
  readonly clock: Clock
  readonly limits: Limits
  readonly closed: boolean
}

/**
 * Watches the kind of the account. A delegated account (EIP-7702) may have fewer transactions in flight,
 * because pools accept fewer from such accounts; the end of the delegation lifts the limit. Each change of
 * the code uses a nonce. The code is therefore read again if something other than our transactions used a
 * nonce, if that use left the chain, and if a pool's message mentions delegated accounts. The limit holds
 * until that reading has ended, because geth answers with a hash even for transactions of a delegated account
 * that it does not keep.
 */
export type CodeWatch = {
  readonly account: AccountKind | { readonly kind: 'unknown' }
  is(account: AccountKind): void
  /** Reads the code again, because it may have changed. */
  readAgain(): void
  moved(before: Slot | undefined, after: Slot): void
  ticked(newHead: boolean): void
}

/** The code is read at two heads, because a lagging replica shows the old code. */
const LOOKS = 2
/** Pause after a failed read if no block arrived meanwhile. */
const RETRY_MS = 2_000

export function createCodeWatch(
  context: CodeWatchContext,
  /** Limits the number of transactions of the account in a pool; undefined for no limit. */
  limitAccount: (transactionsMax: number | undefined) => void,
  changed: () => void,
): CodeWatch {
  const { lane, endpointPool, limits } = context
  let account: CodeWatch['account'] = { kind: 'unknown' }
  let readings = 0
  let reading = false
  let readAtMs = Number.NEGATIVE_INFINITY
  // The account may have become delegated, and no reading that began since then has ended.
  let isSuspect = false
  // The account may have become delegated since the current reading began.
  let again = false

  function bound(): void {
    const isBounded = isSuspect || account.kind === 'delegated'
    limitAccount(isBounded ? limits.delegatedMax : undefined)
  }

  function is(next: AccountKind): void {
    account = next
    bound()
    changed()
  }

  async function read(): Promise<void> {
    reading = true
    again = false
    readAtMs = context.clock.now()
    try {
      const { address } = lane.key
      const timeoutMs = limits.readTimeoutMs
      const code = await getCode(endpointPool.reader.port, { address, block: 'latest', timeoutMs })
      if (context.closed) return
      readings--
      isSuspect = again
      is(accountKind(code))
    } catch {
      // The read is repeated with the next block, or after a while. An endpoint that does not answer it does
      // not stop the lane.
      isSuspect = again
      bound()
    } finally {
      reading = false
    }
  }

  function readAgain(): void {
    readings = LOOKS
    readAtMs = Number.NEGATIVE_INFINITY
    isSuspect = true
    again = reading
    bound()
  }

  return {
    get account() {
      return account
    },
    is(next) {
      isSuspect = false
      is(next)
    },
    readAgain,
    moved(before, after) {
      if (byOther(before) !== byOther(after)) readAgain()
    },
    ticked(newHead) {
      const isFirst = readings === LOOKS && context.clock.now() - readAtMs >= RETRY_MS
      if (readings > 0 && !reading && (newHead || isFirst)) void read()
    },
  }
}

function byOther(slot: Slot | undefined): boolean {
  return slot?.state === 'used' && slot.by.kind === 'other'
}
