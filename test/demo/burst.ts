import type { Clock } from '../../src/platform/clock.js'
import type { Sender, Tx, TxRequest } from '../../src/types/index.js'
import type { ReportedItem } from './check.js'
import type { ItemRecord } from './records.js'

/**
 * Sends everything at once and follows each transaction until it is sealed or has ended. Results go into the
 * records; the function never throws.
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
    // Sealed before a pre-confirmation was seen.
    record.preconfirmedAtMs ??= record.sealedAtMs
  } catch (error) {
    record.error = error
  }
}

const COLLECT_MS = 10_000

/**
 * The sender's final report of each item. It is queried again, because a block of the burst may have been
 * replaced since.
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
    if (status === undefined) return { item, nonce, outcome: 'open', why: 'sealed with an unknown status' }
    return { item, outcome: 'landed', nonce, hash, status }
  } catch (error) {
    return ended(item, error, tx?.nonce)
  }
}

/** Classified by the error's `fate`, the field that users decide by. */
function ended(item: number, error: unknown, nonce: number | undefined): ReportedItem {
  const { fate, code } = (error ?? {}) as { fate?: unknown; code?: unknown }
  const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'no answer'
  const why = typeof code === 'string' ? `${code}: ${message}` : message
  return fate === 'notExecuted'
    ? { item, outcome: 'notExecuted', why }
    : { item, nonce, outcome: 'open', why }
}
