import type { Lane } from '../../allocator/lane.js'
import type { EvidenceVerdict } from '../../chain/blocks/nonceEvidence.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { type BlockRef, concernsCaller, isBound } from '../../ledger/slot.js'
import type { Repeats } from '../../platform/repeats.js'
import { countCall, decodeNumber } from '../../rpc/codec.js'
import type { Limits } from '../../types/index.js'
import type { Store } from '../../types/store.js'
import type { Emitter } from '../emitter.js'
import { settledUpTo } from './depth.js'
import type { EvidenceEffects } from './evidenceEffects.js'
import type { EvidenceSearch } from './evidenceSearch.js'
import { emitForeign } from './foreign.js'
import type { Seed } from './seeding.js'
import type { UsedCount } from './usedCount.js'

type EvidenceVerdictsContext = {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'doubtReader' | 'others' | 'reader' | 'tracker'>
  readonly limits: Limits
  readonly lossDepth: 'child' | 'safe' | number
  readonly store: Store
  readonly events: Emitter
  readonly errors: Repeats<Error>
  readonly closed: boolean
  readonly history: Seed['history']
}

type EvidenceVerdictsParts = {
  readonly context: EvidenceVerdictsContext
  readonly used: UsedCount
  readonly search: EvidenceSearch
  readonly effects: EvidenceEffects
}

/** Interprets the evidence of one endpoint. Each function returns true while there is more to explain. */
export type EvidenceVerdicts = {
  /** The evidence for the nonce at the floor. */
  take(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean>
  /**
   * The evidence for the highest used nonce. A witness proves that all nonces below it are used, and that
   * nothing of this lane is among them.
   */
  takeHighest(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean>
}

export function createEvidenceVerdicts(parts: EvidenceVerdictsParts): EvidenceVerdicts {
  const { context, used, search, effects } = parts
  const { lane, endpointPool, limits } = context
  const { book } = lane
  const tracker = endpointPool.tracker

  function take(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean> {
    switch (verdict.kind) {
      case 'own':
        effects.own(verdict, nonce)
        search.noteUnused(verdict.block.number - 1)
        return book.floor !== nonce
      case 'other':
        effects.others(verdict.witnesses, verdict.block)
        return book.floor > nonce && book.floor < used.newest
      case 'authorized':
        effects.authorized(nonce, verdict.block)
        return book.floor !== nonce
      case 'created':
        return created(nonce, head, verdict.block)
      case 'notUsed':
        search.noteUnused(head)
        return pause(head, undefined)
      case 'refuted':
        return refuted(verdict, head)
      default:
        return fruitless(nonce, head, verdict.why)
    }
  }

  function takeHighest(verdict: EvidenceVerdict, nonce: number, head: number): boolean | Promise<boolean> {
    if (verdict.kind === 'refuted') return refuted(verdict, head)
    if (verdict.kind === 'notUsed') return pause(head, undefined)
    if (verdict.kind !== 'other')
      return fruitless(book.floor, head, 'why' in verdict ? verdict.why : undefined)
    const [witness] = verdict.witnesses
    book.raise(nonce + 1)
    void emitForeign(context, { nonce, hash: witness?.hash, block: verdict.block.number })
    used.liftJump()
    return book.floor < used.newest
  }

  function pause(head: number, why: string | undefined): false {
    search.pause(head, why)
    return false
  }

  /** Bodies show the account's real nonce: the count is wrong and moves nothing. */
  function refuted({ claimed, shown }: Extract<EvidenceVerdict, { kind: 'refuted' }>, head: number): false {
    const why = `the endpoint counts ${claimed} used nonces, and the bodies of its blocks show ${shown}`
    used.refuted(shown)
    endpointPool.doubtReader(why)
    return pause(head, why)
  }

  /**
   * No endpoint shows the use. A nonce that concerns a caller waits, for long if necessary. Any other nonce
   * (a no-op's, or one of the hypothesis) counts as used when a block shows a higher nonce, or when the count
   * was read a second time.
   */
  async function fruitless(nonce: number, head: number, why: string | undefined): Promise<boolean> {
    pause(head, why)
    const slot = book.slots.get(nonce)
    if (concernsCaller(slot)) return search.isExhausted(limits.evidencePatienceMs) && passed(nonce)
    const count = await used.believed(nonce, head)
    if (count === undefined || book.floor !== nonce || count <= nonce) return false
    if (isBound(slot)) lane.apply(nonce, { type: 'passed' })
    book.raise(count)
    return book.floor !== nonce && book.floor < count
  }

  /**
   * CREATE in delegated code leaves no trace. Two endpoints that agree prove it; one alone proves nothing.
   */
  async function created(nonce: number, head: number, block: BlockRef): Promise<boolean> {
    const why = createdIn(block)
    const isAlone = endpointPool.others().length === 0
    // The count of a single endpoint, which is revoked if a later count refutes it.
    if (isAlone && !concernsCaller(book.slots.get(nonce))) return fruitless(nonce, head, why)
    const agree = !isAlone && search.why === why
    pause(head, why)
    if (agree) {
      effects.created(nonce, block)
      return book.floor !== nonce
    }
    return isAlone ? passed(nonce) : false
  }

  /**
   * Row 26, once the count has passed the nonce in a block that is deep enough to prove an end. The depth is
   * relative to the current head: a search takes time, and a node that prunes states quickly may no longer
   * have the block that was deep enough at the start.
   */
  async function passed(nonce: number): Promise<boolean> {
    const deep = settledUpTo(context, tracker.head?.number ?? -1)
    if (deep < 0) return false
    const call = countCall(lane.key.address, deep)
    const [reply] = await endpointPool.reader.port.batch([call], { timeoutMs: limits.readTimeoutMs })
    if (!reply?.ok || decodeNumber(reply.result, call.method) <= nonce) return false
    lane.apply(nonce, { type: 'passed' })
    return book.floor !== nonce
  }

  return { take, takeHighest }
}

const createdIn = ({ number, hash }: BlockRef): string =>
  `the counts around block ${number} (${hash}) pass the nonce of a delegated account without a trace in its body`
