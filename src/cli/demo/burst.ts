import type { Clock } from '../../platform/clock.js'
import type { Sender, Tx, TxRequest } from '../../types/index.js'
import type { ReportedItem } from './check.js'
import type { ItemRecord } from './records.js'

/**
 * Sends everything at once and follows each transaction until it is sealed or has ended. What becomes of it is
 * written into the records; nothing is thrown.
 */
export async function runBurst(sender: Sender, records: readonly ItemRecord[], clock: Clock): Promise<void> {
  await Promise.all(records.map((record) => follow(sender, record, clock)))
}

async function follow(sender: Sender, record: ItemRecord, clock: Clock): Promise<void> {
  record.sentAtMs = clock.now()
  try {
    const tx = await sender.send(record.asked.request as TxRequest, { id: record.id })
    record.acceptedAtMs = clock.now()
    record.tx = tx
    await tx.wait('sealed')
    record.sealedAtMs = clock.now()
    // Sealed before anybody saw it pre-confirmed.
    record.preconfirmedAtMs ??= record.sealedAtMs
  } catch (error) {
    record.error = error
  }
}

const COLLECT_MS = 10_000

/**
 * What the sender says of each item in the end. Asked anew, because a block that was seen sealed in the burst may
 * have been replaced since.
 */
export async function collectReports(
  sender: Sender,
  records: readonly ItemRecord[],
): Promise<ReportedItem[]> {
  return Promise.all(records.map((record) => report(sender, record)))
}

async function report(sender: Sender, record: ItemRecord): Promise<ReportedItem> {
  const { item } = record.asked
  let tx: Tx | undefined = record.tx
  try {
    tx ??= await sender.get(record.id)
    if (tx === undefined) return ended(item, record.error, undefined)
    const { nonce, hash, status } = await tx.wait('sealed', { timeoutMs: COLLECT_MS })
    if (status === undefined)
      return { item, nonce, outcome: 'open', why: 'sealed, and its status is not known' }
    return { item, outcome: 'landed', nonce, hash, status }
  } catch (error) {
    return ended(item, error, tx?.nonce)
  }
}

/** Told by the error's `fate`: that field is what users decide by. */
function ended(item: number, error: unknown, nonce: number | undefined): ReportedItem {
  const { fate, code } = (error ?? {}) as { fate?: unknown; code?: unknown }
  const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'it never came back'
  const why = typeof code === 'string' ? `${code}: ${message}` : message
  return fate === 'notExecuted'
    ? { item, outcome: 'notExecuted', why }
    : { item, nonce, outcome: 'open', why }
}
