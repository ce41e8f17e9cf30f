import type { Lane } from '../../allocator/lane.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { type AccountKind, accountKind } from '../../rpc/methods/accountKind.js'
import { getCode } from '../../rpc/methods/state.js'
import type { Limits } from '../../types/index.js'
import type { Broadcaster } from '../broadcast/broadcast.js'

type CodeWatchContext = {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly closed: boolean
}

/**
 * What the account is. A delegation (EIP-7702) bounds what is in flight by what pools take of such accounts; its end
 * lifts the bound. Each change of it uses a nonce, so the code is read again whenever something that is no transaction
 * of ours used one, or that use left the chain; and when a pool speaks of delegated accounts. Until that reading has
 * ended the bound holds: geth answers what it does not keep of a delegated account with a hash.
 */
export type CodeWatch = {
  readonly account: AccountKind | { readonly kind: 'unknown' }
  is(account: AccountKind): void
  /** It may be another one by now. */
  look(): void
  moved(before: Slot | undefined, after: Slot): void
  ticked(newHead: boolean): void
}

/** A replica that lags shows the old code: it is read at two heads. */
const LOOKS = 2
/** After a read that failed, and no block came meanwhile. */
const RETRY_MS = 2_000

export function createCodeWatch(
  context: CodeWatchContext,
  broadcaster: () => Pick<Broadcaster, 'limitAccount'>,
  changed: () => void,
): CodeWatch {
  const { lane, endpointPool, limits } = context
  let account: CodeWatch['account'] = { kind: 'unknown' }
  let looks = 0
  let reading = false
  let readAtMs = Number.NEGATIVE_INFINITY
  // It may have become a delegated one, and no reading that began since then has ended.
  let doubtful = false
  // The same, since the reading that is under way began.
  let again = false

  function bound(): void {
    const isBounded = doubtful || account.kind === 'delegated'
    broadcaster().limitAccount(isBounded ? limits.delegatedMax : undefined)
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
      looks--
      doubtful = again
      is(accountKind(code))
    } catch {
      // Asked again with the next block, or after a while. An endpoint that does not answer this does not stop the lane.
      doubtful = again
      bound()
    } finally {
      reading = false
    }
  }

  function look(): void {
    looks = LOOKS
    readAtMs = Number.NEGATIVE_INFINITY
    doubtful = true
    again = reading
    bound()
  }

  return {
    get account() {
      return account
    },
    is(next) {
      doubtful = false
      is(next)
    },
    look,
    moved(before, after) {
      if (byOther(before) !== byOther(after)) look()
    },
    ticked(newHead) {
      const isFirst = looks === LOOKS && context.clock.now() - readAtMs >= RETRY_MS
      if (looks > 0 && !reading && (newHead || isFirst)) void read()
    },
  }
}

function byOther(slot: Slot | undefined): boolean {
  return slot?.state === 'used' && slot.by.kind === 'other'
}
