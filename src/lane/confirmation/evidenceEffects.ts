import type { Lane } from '../../allocator/lane.js'
import type { Tracker } from '../../chain/blocks/blockPoller.js'
import type { EvidenceVerdict } from '../../chain/blocks/nonceEvidence.js'
import type { Witness } from '../../ledger/evidence.js'
import type { BlockRef } from '../../ledger/slot.js'

type EvidenceEffectsParts = {
  readonly lane: Lane
  readonly tracker: Pick<Tracker, 'hashAt' | 'reach'>
  /** Receives the nonces whose blocks the walk has not reached yet. */
  readonly unverifiedNonces: Set<number>
  /** The block of our transaction that has a tuple for this nonce (EIP-7702), if there is one. */
  readonly carriedIn: (nonce: number) => BlockRef | undefined
}

/** Applies conclusive evidence to the slots, and extends the walk to its blocks. */
export type EvidenceEffects = ReturnType<typeof createEvidenceEffects>

export function createEvidenceEffects({ lane, tracker, unverifiedNonces, carriedIn }: EvidenceEffectsParts) {
  const { book } = lane

  /** A block that the walk does not know could leave unnoticed, so the walk is extended to it. */
  function reach(nonce: number, number: number): void {
    if (tracker.hashAt(number) !== undefined) return
    unverifiedNonces.add(nonce)
    tracker.reach(number)
  }

  return {
    /**
     * Applies the evidence, together with our other transactions in the same block. A lane that changes its
     * owner may have a whole window of attempts in a few blocks, and a separate search for each would take
     * several consecutive requests.
     */
    own({ hash, block, beside }: Extract<EvidenceVerdict, { kind: 'own' }>, nonce: number): void {
      lane.apply(nonce, { type: 'sealed', hash, block })
      reach(nonce, block.number)
      for (const other of beside) {
        const at = book.nonceOf(other)
        if (at === undefined || book.get(at)?.state !== 'live') continue
        lane.apply(at, { type: 'sealed', hash: other, block })
        reach(at, block.number)
      }
    },
    others(witnesses: readonly Witness[], block: BlockRef): void {
      for (const witness of witnesses) {
        const authorized = carriedIn(witness.nonce)?.hash === block.hash
        lane.apply(witness.nonce, { type: 'evidence', block, hash: witness.hash, authorized })
        reach(witness.nonce, block.number)
      }
    },
    authorized(nonce: number, block: BlockRef): void {
      lane.apply(nonce, { type: 'evidence', block, hash: undefined, authorized: true })
      reach(nonce, block.number)
    },
    created(nonce: number, block: BlockRef): void {
      lane.apply(nonce, { type: 'evidence', block, hash: undefined })
      reach(nonce, block.number)
    },
  }
}
