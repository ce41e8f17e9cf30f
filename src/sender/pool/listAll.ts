import { invalid } from '../../errors/invalid.js'
import type { Sender, Stage, TxRecord } from '../../types.js'

/** One lane after the other; the cursor says which, and how far in it. */
export async function listAll(
  senders: readonly Sender[],
  options: { stage?: Stage | undefined; limit?: number | undefined; cursor?: string | undefined } = {},
): Promise<{ items: TxRecord[]; cursor?: string }> {
  const { cursor, ...rest } = options
  // What a lane's own cursor looks like is the store's matter, and checked there.
  const [, lane = '', inner = ''] = /^(\d+)\/(.*)$/s.exec(cursor ?? '0/') ?? []
  const index = lane === '' ? -1 : Number(lane)
  const sender = senders[index]
  if (sender === undefined) throw invalid('cursor', cursor, 'what an earlier page gave back')
  const page = await sender.list({ ...rest, ...(inner === '' ? {} : { cursor: inner }) })
  if (page.cursor !== undefined) return { items: page.items, cursor: `${index}/${page.cursor}` }
  return index + 1 < senders.length ? { items: page.items, cursor: `${index + 1}/` } : { items: page.items }
}
