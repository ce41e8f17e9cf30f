import type { Address } from 'viem'
import { readCount } from '../../chain/blocks/evidenceReads.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { countCall } from '../../rpc/codec.js'

/** The counts of the account at the other endpoints that answer. */
export async function countsElsewhere(
  endpointPool: Pick<EndpointPool, 'others'>,
  address: Address,
  timeoutMs: number,
  tag: 'latest' | 'pending' = 'latest',
): Promise<readonly number[]> {
  const call = countCall(address, tag)
  const replies = await Promise.all(
    endpointPool.others().map(({ port }) => port.batch([call], { timeoutMs })),
  )
  return replies.map(([reply]) => readCount(reply)).filter((count) => typeof count === 'number')
}
