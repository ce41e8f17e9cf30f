import type { Address } from 'viem'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { resolvePrivate } from '../../chain/endpoints/privateEndpoints.js'
import type { Clock, Random } from '../../platform/clock.js'
import type { SendOptions, Tx, TxRequest } from '../../types/index.js'
import type { LaneKey } from '../../types/store.js'
import type { AdmissionTarget } from '../transaction/caller.js'
import { newQueued } from '../transaction/stored.js'
import type { Transaction } from '../transaction/transaction.js'
import { RECEIPT_WITHIN, type ReceiptWithin } from '../transaction/txInternals.js'
import { fingerprintOf, NO_FINGERPRINT } from './idConflict.js'
import { randomId } from './randomId.js'

type NewTransaction = (request: TxRequest, options: SendOptions, target: AdmissionTarget) => Transaction

const NO_LANES: readonly Address[] = []

/** Returns the function that builds the transaction for a request and its options. */
export function createNewTransaction(parts: {
  readonly key: LaneKey
  readonly endpointPool: Pick<EndpointPool, 'endpoints'>
  readonly clock: Pick<Clock, 'wallNow'>
  readonly random: Random
  readonly nextSequence: () => number
}): NewTransaction {
  const { key, endpointPool, clock, random, nextSequence } = parts

  return (request, options, target) => {
    const { replaces, follows } = target
    const { after, afterStage, afterStatus, deploys, effect } = options
    const isPrivate = resolvePrivate(endpointPool, request, options, replaces?.record)
    const hasNeeds =
      after !== undefined || deploys !== undefined || effect !== undefined || follows !== undefined
    const transaction = newQueued({
      id: options.id ?? randomId(random),
      lane: key,
      request,
      // A generated id is not used for a second request, so only ids of callers need a fingerprint.
      fingerprint: options.id === undefined ? NO_FINGERPRINT : fingerprintOf(key.address, request),
      sequence: nextSequence(),
      priority: options.priority ?? 0,
      gas: undefined,
      feeCeiling: options.feeCeiling,
      feePreset: options.feePreset ?? replaces?.record.feePreset,
      createdAtMs: clock.wallNow(),
      expiresAtMs: options.expires?.atMs,
      onExpiry: options.onExpiry ?? 'leave',
      private: isPrivate ? true : undefined,
      order: (options.order ?? replaces?.record.order) === 'strict' ? 'strict' : undefined,
      starved: (options.starved ?? replaces?.record.starved) === 'fail' ? 'fail' : undefined,
      pooled: target.pooled ? NO_LANES : undefined,
      group: options.group ?? replaces?.group,
      needs: hasNeeds
        ? {
            after: after?.map(idOf),
            afterStage,
            afterStatus,
            deploys,
            effect,
            ...(follows === undefined ? {} : { follows }),
          }
        : undefined,
      replaces: replaces?.id,
    })
    transaction.replaces = replaces
    const { [RECEIPT_WITHIN]: withinMs } = options as ReceiptWithin
    if (withinMs !== undefined) transaction.receiptWithinMs = withinMs
    if (after !== undefined) transaction.notes = { predecessors: after }
    return transaction
  }
}

function idOf(one: string | Tx): string {
  return typeof one === 'string' ? one : one.id
}
