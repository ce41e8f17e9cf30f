import type { Sender } from 'txlane'
import { type Chain, createClient, type Hash, webSocket } from 'viem'

/** Tells the sender what the node shows of each flashblock: seen a moment sooner than by polling. */
export async function observeFlashblocks(sender: Sender, chain: Chain, url: string) {
  let seen = 0
  const { transport } = createClient({ chain, transport: webSocket(url) })
  const onData = ({ result: hash }: { result?: Hash | undefined }) => {
    if (hash === undefined) return
    seen++
    // Of the block that is being built, whichever that is. Hashes of others are passed over.
    sender.observe({ hashes: [hash], blockNumber: 0n })
  }
  // viem knows the standard's subscriptions; this one is Base's.
  const params = ['newFlashblockTransactions'] as never
  const { unsubscribe } = await transport.subscribe({ params, onData, onError: () => {} })
  return {
    get seen() {
      return seen
    },
    async stop() {
      await unsubscribe().catch(() => {})
      const socket = (await transport.getRpcClient()) as { close(): void }
      socket.close()
    },
  }
}
