import type { Clock } from '../../src/platform/clock.js'
import type { HoldReason, Sender, SenderEvents, Tx } from '../../src/types/index.js'
import type { ItemRecord } from './records.js'

/** Events of the sender during the burst. */
export type Notified = {
  /** Number of events per kind. */
  readonly counts: ReadonlyMap<keyof SenderEvents, number>
  /** Nonces used by foreign transactions. */
  readonly foreign: ReadonlySet<number>
  /** Nonces used by no-ops. */
  readonly noops: ReadonlySet<number>
  readonly holds: ReadonlySet<HoldReason>
  /** The first message of its `error` events. */
  readonly firstError: string | undefined
}

const COUNTED = [
  'replaced',
  'stuck',
  'feeCeiling',
  'displaced',
  'unresolved',
  'gap',
  'reorged',
  'deepReorg',
  'cancelled',
  'superseded',
] as const

/**
 * Listens to a sender and updates the records of known items. It listens to pre-confirmations instead of
 * waiting for them: a wait would fetch each receipt, which the burst does not need.
 */
export function watchSender(
  sender: Sender,
  records: ReadonlyMap<string, ItemRecord>,
  clock: Clock,
): { notified: Notified; off(): void } {
  const counts = new Map<keyof SenderEvents, number>()
  const notified = {
    counts,
    foreign: new Set<number>(),
    noops: new Set<number>(),
    holds: new Set<HoldReason>(),
    firstError: undefined as string | undefined,
  }
  const count = (event: keyof SenderEvents) => counts.set(event, (counts.get(event) ?? 0) + 1)
  const attempt = ({ tx }: { tx: Tx }) => noteAttempt(records.get(tx.id), tx)

  const offs = [
    ...COUNTED.map((event) => sender.on(event, () => count(event))),
    ...(['signed', 'accepted', 'sealed'] as const).map((event) => sender.on(event, attempt)),
    sender.on('preconfirmed', ({ tx }) => {
      const record = records.get(tx.id)
      noteAttempt(record, tx)
      if (record) record.preconfirmedAtMs ??= clock.now()
    }),
    sender.on('rebroadcast', (event) => {
      count('rebroadcast')
      attempt(event)
      const record = records.get(event.tx.id)
      if (record) record.rebroadcasts += 1
    }),
    sender.on('foreign', ({ nonce }) => {
      count('foreign')
      notified.foreign.add(nonce)
    }),
    sender.on('gapFilled', ({ nonce }) => {
      count('gapFilled')
      notified.noops.add(nonce)
    }),
    sender.on('held', ({ reason }) => {
      count('held')
      notified.holds.add(reason)
    }),
    sender.on('error', ({ error }) => {
      count('error')
      notified.firstError ??= error.message.split('\n')[0]
    }),
  ]
  return {
    notified,
    off() {
      for (const off of offs) off()
    },
  }
}

function noteAttempt(record: ItemRecord | undefined, tx: Tx): void {
  const { nonce, hash } = tx
  if (record === undefined || nonce === undefined || hash === undefined) return
  if (record.attempts.some((known) => known.hash === hash)) return
  record.attempts.push({ nonce, hash })
}
