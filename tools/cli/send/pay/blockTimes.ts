import type { Chain, Client, HttpTransport } from 'viem'
import { getBlock } from 'viem/actions'

/** Beyond this many blocks the results show no times: a payout of days would read blocks for minutes. */
const BLOCKS_MAX = 10_000
const BATCH = 100

/** The times of blocks, in ISO 8601, each read once. A block that the node does not return is left out. */
export async function blockTimes(
  client: Client<HttpTransport, Chain>,
  of: readonly (bigint | undefined)[],
): Promise<ReadonlyMap<bigint, string>> {
  const blocks = [...new Set(of.filter((block) => block !== undefined))].slice(0, BLOCKS_MAX)
  const times = new Map<bigint, string>()
  for (let from = 0; from < blocks.length; from += BATCH)
    await Promise.all(
      blocks.slice(from, from + BATCH).map(async (blockNumber) => {
        const block = await getBlock(client, { blockNumber }).catch(() => undefined)
        if (block !== undefined)
          times.set(blockNumber, new Date(Number(block.timestamp) * 1_000).toISOString())
      }),
    )
  return times
}
