import type { Attributes } from '@opentelemetry/api'
import { isTxlaneError } from '../errors/base.js'
import type { HoldReason, Sender, SenderEvents } from '../types/index.js'
import type { Instruments } from './instruments.js'
import type { Transactions } from './transactions.js'

/** What of a sender is looked at. */
export type Watched = Pick<Sender, 'chain' | 'address' | 'on' | 'health'>

type Listeners = { readonly [event in keyof SenderEvents]: (payload: SenderEvents[event]) => void }

/** One listener for every event there is: an event without one would be missing here. */
export function listenersOf(
  instruments: Instruments,
  transactions: Transactions,
  attributes: Attributes,
  held: Map<HoldReason, boolean>,
): Listeners {
  const { reached, happened } = transactions
  const count = (name: 'gapsFound' | 'gapsFilled' | 'foreign' | 'displaced', event: string) => {
    return ({ tx, nonce }: SenderEvents['foreign']) => {
      instruments[name].add(1, attributes)
      happened(tx, event, { 'txlane.nonce': nonce })
    }
  }
  const reorged = (deep: boolean) => {
    return ({ tx }: SenderEvents['reorged']) => {
      instruments.reorgs.add(1, { ...attributes, 'txlane.reorg.deep': deep })
      happened(tx, deep ? 'deepReorg' : 'reorged')
    }
  }
  return {
    queued: ({ tx }) => reached(tx, 'queued'),
    signed: ({ tx }) => reached(tx, 'signed'),
    accepted: ({ tx }) => reached(tx, 'accepted'),
    preconfirmed: ({ tx }) => reached(tx, 'preconfirmed'),
    sealed: ({ tx }) => reached(tx, 'sealed'),
    failed: ({ tx, error }) => reached(tx, 'failed', error),
    cancelled: ({ tx }) => reached(tx, 'cancelled'),
    superseded: ({ tx }) => reached(tx, 'superseded'),
    reverted: ({ tx }) => transactions.reverted(tx),
    replaced({ tx }) {
      instruments.replaced.add(1, attributes)
      happened(tx, 'replaced')
    },
    waiting: ({ tx }) => happened(tx, 'waiting'),
    reordered: ({ tx }) => happened(tx, 'reordered'),
    rebroadcast({ tx }) {
      instruments.rebroadcasts.add(1, attributes)
      transactions.rebroadcast(tx)
    },
    stuck({ tx }) {
      instruments.stuck.add(1, attributes)
      happened(tx, 'stuck')
    },
    feeCeiling({ tx }) {
      instruments.feeCeilings.add(1, attributes)
      happened(tx, 'feeCeiling')
    },
    foreign: count('foreign', 'foreign'),
    displaced: count('displaced', 'displaced'),
    gap: count('gapsFound', 'gap'),
    gapFilled: count('gapsFilled', 'gapFilled'),
    reorged: reorged(false),
    deepReorg: reorged(true),
    corrected: ({ tx }) => happened(tx, 'corrected'),
    rebound: ({ tx }) => happened(tx, 'rebound'),
    unresolved: ({ tx }) => void (tx && transactions.unresolved(tx)),
    held({ reason }) {
      held.set(reason, true)
      instruments.holds.add(1, { ...attributes, 'txlane.hold.reason': reason })
    },
    released: ({ reason }) => void held.set(reason, false),
    endpoint({ name, role, change }) {
      const own = {
        'txlane.endpoint.name': name,
        'txlane.endpoint.role': role,
        'txlane.endpoint.change': change,
      }
      instruments.endpointChanges.add(1, { ...attributes, ...own })
    },
    leaseGained: ({ takeover }) =>
      instruments.leasesGained.add(1, { ...attributes, 'txlane.lease.takeover': takeover }),
    leaseLost() {
      // The books, and what holds them, are another process's from now on.
      for (const reason of held.keys()) held.set(reason, false)
      instruments.leasesLost.add(1, attributes)
    },
    error({ error, times }) {
      const type = isTxlaneError(error) ? error.code : error.name
      instruments.errors.add(times, { ...attributes, 'error.type': type })
    },
  }
}
