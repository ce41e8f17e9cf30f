import type { Lane } from '../../allocator/lane.js'
import { readWitness } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Slot } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import type { Signatures } from '../../rpc/signatures.js'

type WitnessCheckContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'chainId' | 'doubtReader' | 'others' | 'reader' | 'tracker'>
  readonly clock: Clock
  readonly errors: Repeats<Error>
  readonly signatures: Signatures
  readonly closing: AbortSignal
  readonly closed: boolean
}

/**
 * The second reading of a witness (rule W). Before a transaction moves to another nonce, or ends without
 * execution, because something else used its nonce, the body that shows the use is read once more, at another
 * endpoint if there is one.
 */
export type WitnessCheck = {
  /** Whether the verdict on this nonce may be given. If that is not known yet, the reading begins. */
  confirmed(nonce: number): boolean
  /** A verdict waits for a reading. */
  readonly wanted: boolean
}

const RETRY_MS = 1_000
const RETRY_MS_MAX = 30_000

type Check = { readonly block: string; tries: number; notBeforeMs: number; reading: boolean; stands: boolean }

export function createWitnessCheck(context: WitnessCheckContext): WitnessCheck {
  const { lane, endpointPool, clock } = context
  const { book } = lane
  const checks = new Map<number, Check>()

  function confirmed(nonce: number): boolean {
    const slot = book.get(nonce)
    const needed = slot === undefined ? undefined : needsSecondReading(slot)
    if (!needed) {
      checks.delete(nonce)
      return true
    }
    const check = checkOf(nonce, needed.block.hash)
    if (check.stands) {
      checks.delete(nonce)
      return true
    }
    if (!check.reading && clock.now() >= check.notBeforeMs) void read(nonce, needed, check)
    return false
  }

  function checkOf(nonce: number, block: string): Check {
    const known = checks.get(nonce)
    if (known?.block === block) return known
    const check = { block, tries: 0, notBeforeMs: 0, reading: false, stands: false }
    checks.set(nonce, check)
    return check
  }

  async function read(nonce: number, { block, hash }: Needed, check: Check): Promise<void> {
    check.reading = true
    try {
      const all = [...endpointPool.others(), endpointPool.reader]
      const endpoint = all[check.tries % all.length] ?? endpointPool.reader
      const found = await readWitness(endpoint.port, {
        address: lane.key.address,
        chainId: endpointPool.chainId,
        isOwn: (other) => book.nonceOf(other) !== undefined,
        signatures: context.signatures,
        block,
        witness: { nonce, hash },
        signal: context.closing,
      })
      if (context.closed) return
      check.stands = found === 'stands'
      if (found === 'missing') refuted(nonce, { block, hash }, endpoint.port.name)
    } catch (error) {
      reportError(context, error)
    } finally {
      check.reading = false
      check.notBeforeMs = clock.now() + Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** check.tries)
      check.tries++
      // The poller is woken so that the answer takes effect at once: the next block may take long. A closed
      // lane needs no answer.
      if (!context.closed) endpointPool.tracker.wake()
    }
  }

  /** Row 34. */
  function refuted(nonce: number, { block, hash }: Needed, endpoint: string): void {
    checks.delete(nonce)
    endpointPool.doubtReader(
      `block ${block.number} was shown with transaction ${hash}, and ${endpoint} shows it without`,
    )
    lane.apply(nonce, { type: 'unwitnessed', block, token: lane.token() })
  }

  return {
    confirmed,
    get wanted() {
      return checks.size > 0
    },
  }
}

type Needed = {
  readonly block: NonNullable<Extract<Slot, { state: 'used' }>['at']>
  readonly hash: `0x${string}`
}

/**
 * The use of the nonce is known from a body that was read once, and something of this lane is bound to the
 * nonce.
 */
function needsSecondReading(slot: Slot): Needed | undefined {
  if (slot.state !== 'used' || slot.settled || slot.by.kind !== 'other') return undefined
  const { by, at, claims, attempts } = slot
  if (by.hash === undefined || at === undefined) return undefined
  if (claims.length === 0 && attempts.length === 0) return undefined
  // An attempt of this lane whose transaction had ended. The walk has seen it.
  if (attempts.some(({ hash }) => hash === by.hash)) return undefined
  return { block: at, hash: by.hash }
}
