import type { Lane } from '../../allocator/lane.js'
import type { Bounds } from '../../allocator/readings.js'
import { readBlock } from '../../chain/blocks/evidenceReads.js'
import { readEvidence } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { BlockRef } from '../../ledger/slot.js'
import { createOneAtATime } from '../../platform/oneAtATime.js'
import type { Repeats } from '../../platform/repeats.js'
import { headerCall } from '../../rpc/codec.js'
import type { Signatures } from '../../rpc/signatures.js'
import type { Limits } from '../../types/index.js'
import { countsElsewhere } from './counts.js'

type StoreCheckContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'chainId' | 'others' | 'reader'>
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly signatures: Signatures
  readonly closing: AbortSignal
  readonly closed: boolean
}

/**
 * Checks whether the chain knows nonces that the store does not. In that case the store was restored from an
 * earlier time, and ids that it has forgotten would be paid again. The hold `storeBehindChain` is set if
 * every endpoint that answers agrees. While the endpoints contradict each other, nothing is sent, with the
 * reason `seeding`.
 */
export type StoreCheck = {
  /** The bounds of the account's count, from confirmed readings of the read endpoint. */
  compare(bounds: Bounds): void
  readonly isDisputed: boolean
  /** Describes the two contradicting counts, and the store's cursor. */
  readonly detail: string
  /** More readings may change the result. */
  readonly isOpen: boolean
  /** An operator has confirmed the state. */
  accept(): void
}

/**
 * Number of refutations that lift the hold. One is not enough: the hold rests on counts alone, and ids may be
 * paid again if it is lifted in error.
 */
const REFUTED_MIN = 3

/** A search starts this many blocks below its block, and continues to lower blocks by itself. */
const LOOK_BACK_BLOCKS = 31

export function createStoreCheck(
  context: StoreCheckContext,
  start: {
    /** The cursor of a store that may be older than the chain; undefined if it cannot be. */
    readonly cursor: number | undefined
    /** Of the readings at the start one was above the cursor, and another was not. */
    readonly isDisputed: boolean
    /** The newest block that the store knew before it can have lost anything. */
    readonly madeAt: BlockRef | undefined
  },
  changed: () => void,
): StoreCheck {
  const { lane, endpointPool, limits } = context
  const { holds } = lane
  const { cursor, madeAt } = start
  let isDisputed = start.isDisputed
  const asking = createOneAtATime(context)
  // Number of consecutive readings without a count above the cursor.
  let refuted = 0
  let said = ''

  const isBehind = (): boolean => holds.has('storeBehindChain')

  function judge(bounds: Bounds): void {
    if (cursor === undefined) return
    if (!isBehind() && !isDisputed) {
      if (bounds.min <= cursor) return
      isDisputed = true
    }
    asking.run(() => hear(bounds, cursor))
  }

  async function hear(bounds: Bounds, cursor: number): Promise<void> {
    const [others, shown] = await Promise.all([
      countsElsewhere(endpointPool, lane.key.address, limits.readTimeoutMs, 'pending'),
      usedBefore(bounds.max),
    ])
    if (context.closed || !(isDisputed || isBehind())) return
    const min = Math.min(bounds.min, ...others)
    const max = Math.max(bounds.max, ...others)
    const known = Math.max(cursor, shown)
    said = `One reading counts ${min} nonces at \`pending\`, another one ${max}`
    refuted = max <= known ? refuted + 1 : 0
    if (isDisputed && min > known) {
      isDisputed = false
      holds.add('storeBehindChain')
    } else if (refuted >= REFUTED_MIN) {
      isDisputed = false
      holds.lift('storeBehindChain')
    }
    changed()
  }

  /**
   * Returns `count` if all these nonces were used before the store was last written, which holds if the body
   * of a block that the store knew shows the last one of them; otherwise 0. Transactions that the store has
   * forgotten were made later, and land above that block.
   */
  async function usedBefore(count: number): Promise<number> {
    const last = lane.book.get(count - 1)
    if (madeAt === undefined || count <= 0) return 0
    if (last?.state !== 'used' || last.at === undefined || last.at.number < 0)
      return (await isShownAt(madeAt, count - 1)) ? count : 0
    if (last.at.number > madeAt.number) return 0
    const call = headerCall(madeAt.number)
    const [reply] = await endpointPool.reader.port.batch([call], { timeoutMs: limits.readTimeoutMs })
    return readBlock(reply)?.hash === madeAt.hash ? count : 0
  }

  /** Without a record of the nonce, its use is searched for as if that block were the newest one. */
  async function isShownAt({ number: to, hash }: BlockRef, nonce: number): Promise<boolean> {
    const { kind } = await readEvidence(endpointPool.reader.port, {
      address: lane.key.address,
      chainId: endpointPool.chainId,
      nonce,
      own: () => new Set(),
      isOwn: (one) => lane.book.nonceOf(one) !== undefined,
      carriedIn: undefined,
      signatures: context.signatures,
      from: to - LOOK_BACK_BLOCKS,
      to,
      hashAt: (number) => (number === to ? hash : undefined),
      isFirst: true,
      signal: context.closing,
    })
    return kind === 'other' || kind === 'own'
  }

  return {
    compare: judge,
    get isDisputed() {
      return isDisputed
    },
    get detail() {
      return `${said || 'Two readings of the account contradict each other'}: the store knows of ${cursor}. Was it put back from a backup? The hold lifts when they agree; resume() goes on from the store.`
    },
    get isOpen() {
      return cursor !== undefined && (isDisputed || isBehind())
    },
    accept() {
      isDisputed = false
    },
  }
}
