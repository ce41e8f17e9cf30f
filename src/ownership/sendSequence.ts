import { isTxlaneError, TxlaneError } from '../errors/base.js'
import { randomId } from '../lane/admission/randomId.js'
import { requireKnown } from '../lane/admission/requireKnown.js'
import { added, DEFAULT_TARGET } from '../lane/transaction/caller.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import type { Random } from '../platform/clock.js'
import type { SendOptions, SequenceOptions, Tx, TxRequest } from '../types/index.js'
import { feesAbove } from '../validate/feeBounds.js'
import { excessGas } from '../validate/validate.js'
import type { OpenLane } from './open.js'

/**
 * Takes requests on as a sequence of the lane, each to follow the one before it. What was checked is checked.
 * @throws what the first of them that was not taken on was refused with, `inFlight` where others go before it
 */
export async function sendSequence(
  lane: Pick<OpenLane, 'session' | 'endpointPool' | 'store' | 'ownership'>,
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
    // All are awaited below; one that is refused before that has nobody yet.
    adding.catch(() => {})
    taken.push(adding)
    // An id of the caller's own may stand for something else: nothing is to follow that.
    if (options.id !== undefined || (first && after !== undefined)) await adding.catch(refusedAt(index))
  }
  const transactions: Transaction[] = []
  for (const [index, adding] of taken.entries()) transactions.push(await adding.catch(refusedAt(index)))
  if (options.until !== 'queued')
    await Promise.all(transactions.map((one) => session.waiting.accepted(one).catch(() => {})))
  return transactions.map(session.txOf)
}

/**
 * None is taken on where no block has room for one of them, or its group may not offer so much; a sequence that was sent
 * before is what it was.
 */
async function checkBounds(
  { session, endpointPool, store }: Pick<OpenLane, 'session' | 'endpointPool' | 'store'>,
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

/** What was refused first: those before it go their way. */
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
