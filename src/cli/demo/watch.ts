import type { Clock } from '../../platform/clock.js'
import type { HoldReason, Sender, SenderEvents, Tx } from '../../types/index.js'
import type { ItemRecord } from './records.js'

/** What the sender told of its repairs while the burst was on. */
export type Told = {
  /** How often each event was heard. */
  readonly counts: ReadonlyMap<keyof SenderEvents, number>
  /** Nonces used by something that was not sent here. */
  readonly foreign: ReadonlySet<number>
  /** Nonces used up by a no-op. */
  readonly noops: ReadonlySet<number>
  readonly holds: ReadonlySet<HoldReason>
  /** The first message of the errors it told of. */
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
 * Listens to a sender and writes into the records of the items that it knows. Pre-confirmations are heard of and not
 * waited for: waiting would fetch the receipt of each, which the burst does not need.
 */
export function watchSender(
  sender: Sender,
  records: ReadonlyMap<string, ItemRecord>,
  clock: Clock,
): { told: Told; off(): void } {
  const counts = new Map<keyof SenderEvents, number>()
  const told = {
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
      told.foreign.add(nonce)
    }),
    sender.on('gapFilled', ({ nonce }) => {
      count('gapFilled')
      told.noops.add(nonce)
    }),
    sender.on('held', ({ reason }) => {
      count('held')
      told.holds.add(reason)
    }),
    sender.on('error', ({ error }) => {
      count('error')
      told.firstError ??= error.message.split('\n')[0]
    }),
  ]
  return {
    told,
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
