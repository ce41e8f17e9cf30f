import type { TxlaneError } from '../errors/base.js'
import type { AdmissionListener } from '../lane/admission/admission.js'
import { requireKnown } from '../lane/admission/requireKnown.js'
import { type GroupCounts, queueRefusal } from '../lane/queue/groups.js'
import type { Caller } from '../lane/transaction/caller.js'
import type { Transaction } from '../lane/transaction/transaction.js'
import type { LaneWorker } from '../lane/engine/laneWorker.js'
import { isInFlightByStage } from '../lane/engine/snapshot.js'
import type { StandbyOptions } from './standby.js'

/** Adds transactions of this process to a lane that another process owns: into the store, where the owner finds them. */
export function createStandbyAdmission(
  options: Pick<StandbyOptions, 'session' | 'store' | 'admission' | 'limits' | 'groups'>,
  notify: {
    /** The transaction is in the store. */
    readonly added: (transaction: Transaction) => void
    /** The same, also for a transaction whose id the store knew. */
    readonly kept: (transaction: Transaction) => void
  },
): Pick<LaneWorker, 'add' | 'refusal' | 'counts'> {
  const { session, admission } = options
  const { transactions } = session

  const listener: AdmissionListener = {
    onAdmitting() {},
    onAdmitted(transaction, { signal }) {
      notify.added(transaction)
      session.events.emit('queued', { tx: session.txOf(transaction) })
      session.attachSignal(transaction, signal)
    },
    onRejected() {},
    // The owner finds it among the arrivals.
    onInDoubt() {},
  }

  const ofGroup = (group: string) => [...transactions.values()].filter((one) => one.group === group)
  // Only the transactions that this process knows are counted.
  const counts: GroupCounts = {
    gasInFlight: 0,
    inFlight: (group) => ofGroup(group).filter(isInFlightByStage).length,
    queued: (group) => ofGroup(group).filter(({ stage }) => stage === 'queued').length,
  }

  function refusal(group: string | undefined, more?: number): TxlaneError | undefined {
    const lanes = session.rebalancing?.lanes() ?? [counts]
    const { queueMax } = options.limits
    return queueRefusal({ size: transactions.size, queueMax, policy: options.groups, lanes }, group, more)
  }

  return {
    counts,
    refusal,
    add(request, sendOptions, target, { kept, failed }) {
      const caller: Caller = {
        kept(transaction) {
          notify.kept(transaction)
          kept(transaction)
        },
        failed,
      }
      const full = refusal(sendOptions.group)
      if (full === undefined) return admission.admit(request, sendOptions, target, { listener, caller })
      requireKnown(options, sendOptions.id, full)
        .then(() => admission.admit(request, sendOptions, target, { listener, caller }))
        .catch(failed)
    },
  }
}
