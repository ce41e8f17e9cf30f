import type { Sender } from 'txlane'
import { type Chain, createClient, type Hash, webSocket } from 'viem'

/** Reports the transactions of each flashblock to the sender, slightly earlier than polling would. */
export async function observeFlashblocks(sender: Sender, chain: Chain, url: string) {
  let seen = 0
  const { transport } = createClient({ chain, transport: webSocket(url) })
  const onData = ({ result: hash }: { result?: Hash | undefined }) => {
    if (hash === undefined) return
    seen++
    // The hashes belong to the block that is being built, so its number is unknown. The sender ignores
    // unknown hashes.
    sender.observe({ hashes: [hash], blockNumber: 0n })
  }
  // viem supports the standard subscriptions; this one is Base's.
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
