import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import { isTxlaneError, TxlaneError } from '../errors/base.js'
import { requireKnown } from '../lane/admission/admission.js'
import { randomId } from '../lane/admission/randomId.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import { added, DEFAULT_TARGET } from '../lane/transaction/caller.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import type { Random } from '../platform/clock.js'
import type { SendOptions, SequenceOptions, Tx, TxRequest } from '../types/index.js'
import type { Store } from '../types/store.js'
import { excessGas } from '../validate/validate.js'
import { feesAbove } from '../validate/validateFees.js'
import type { LaneOwnership } from './laneOwnership.js'

/** The part of an open lane that takes a sequence. */
type SequenceLane = {
  readonly session: LaneSession
  readonly endpointPool: Pick<EndpointPool, 'chain' | 'tracker'>
  readonly store: Store
  readonly ownership: Pick<LaneOwnership, 'worker'>
}

/**
 * Admits requests as a sequence of the lane, in which each follows the one before it. The requests are validated already.
 * @throws the error of the first request that was not admitted, with the fate `inFlight` if others were admitted before it
 */
export async function sendSequence(
  lane: SequenceLane,
  requests: readonly TxRequest[],
  options: SequenceOptions,
  random: Random,
): Promise<readonly Tx[]> {
  const { ownership, session } = lane
  const { id = randomId(random), after, afterStage, afterStatus, ...all } = options
  const full = ownership.worker.refusal(options.group, requests.length)
  if (full) await requireKnown(lane, options.id && `${id}/0`, full)
  await checkBounds(lane, requests, options)
  const taken: Promise<Transaction>[] = []
  for (const [index, request] of requests.entries()) {
    const own: SendOptions = { ...all, id: `${id}/${index}` }
    const first = index === 0
    const adding = added(
      ownership.worker.add,
      request,
      first ? { ...own, after, afterStage, afterStatus } : own,
      first ? DEFAULT_TARGET : { follows: `${id}/${index - 1}` },
    )
    // All promises are awaited below. This handler serves one that rejects before that.
    adding.catch(() => {})
    taken.push(adding)
    // An id of the caller may belong to another request. No transaction may follow that one.
    if (options.id !== undefined || (first && after !== undefined)) await adding.catch(refusedAt(index))
  }
  const transactions: Transaction[] = []
  for (const [index, adding] of taken.entries()) transactions.push(await adding.catch(refusedAt(index)))
  if (options.until !== 'queued')
    await Promise.all(transactions.map((one) => session.waiting.accepted(one).catch(() => {})))
  return transactions.map(session.txOf)
}

/**
 * Refuses the whole sequence if no block has room for one of its transactions, or if the ceiling of its group is too low. A
 * sequence that was sent before is accepted as it is.
 */
async function checkBounds(
  { session, endpointPool, store }: SequenceLane,
  requests: readonly TxRequest[],
  { id, group }: SendOptions,
): Promise<void> {
  const excess = requests
    .map(
      (one) =>
        excessGas(one, endpointPool.chain, endpointPool.tracker.newest) ??
        feesAbove(one, session.settings.groupCeiling(group)?.maxFeePerGas, 'the ceiling of its group'),
    )
    .find(Boolean)
  if (excess && !(id !== undefined && (await store.find(session.key, { id: `${id}/0` })))) throw excess
}

/** The error of the request that was refused first. The requests before it were admitted. */
const refusedAt = (index: number) => (error: unknown) => {
  if (index === 0 || !isTxlaneError(error)) throw error
  const { code, shortMessage, tx } = error
  throw new TxlaneError(shortMessage, {
    code,
    fate: 'inFlight',
    tx,
    cause: error,
    metaMessages: [`The first ${index} of the sequence were taken on; this one, and all after it, were not.`],
  })
}
