import type { Address } from 'viem'
import { countCall } from '../../rpc/codec.js'
import { readCount } from '../../tracker/evidenceReplies.js'
import type { Hub } from '../nodes/hub.js'

/** The counts of the account at the other endpoints, of those that answer. */
export async function countsElsewhere(
  hub: Pick<Hub, 'others'>,
  address: Address,
  timeoutMs: number,
  tag: 'latest' | 'pending' = 'latest',
): Promise<readonly number[]> {
  const call = countCall(address, tag)
  const replies = await Promise.all(hub.others().map(({ port }) => port.batch([call], { timeoutMs })))
  return replies.map(([reply]) => readCount(reply)).filter((count) => typeof count === 'number')
}
