import { isTxlaneError, type Sender, type Tx } from 'txlane'
import { type Address, encodeFunctionData } from 'viem'
import { abi } from './book.js'
import type { Price } from './prices.js'

const NOTHING: Price = { bid: 0n, ask: 0n }
const GAS = 120_000n

type Options = {
  readonly book: Address
  /** Age from which a quote is no longer wanted on the chain. */
  readonly staleMs: number
  readonly report: (what: object) => void
}

/** Keeps one quote on the chain. */
export function createQuoter(sender: Sender, { book, staleMs, report }: Options) {
  const counts = { quoted: 0, replaced: 0, cancelled: 0, failed: 0 }
  let live: Tx | undefined
  for (const event of ['replaced', 'cancelled', 'failed'] as const) sender.on(event, () => counts[event]++)

  /** In flight but not in a block yet, so it can still be changed. */
  const isOpen = (tx: Tx | undefined): tx is Tx => tx?.stage === 'signed' || tx?.stage === 'accepted'

  async function quote({ bid, ask }: Price): Promise<void> {
    const request = requestOf({ bid, ask })
    const options = { expires: { atMs: Date.now() + staleMs }, onExpiry: 'cancel' } as const
    try {
      live = isOpen(live) ? await live.replace(request, options) : await sender.send(request, options)
      counts.quoted++
      report({ quoted: { bid: Number(bid), ask: Number(ask) }, nonce: live.nonce })
    } catch (error) {
      // TOO_LATE: the previous quote landed meanwhile. EXPIRED, REJECTED: the next price is a new quote in
      // any case.
      if (!isTxlaneError(error)) throw error
      if (error.fate !== 'inFlight') live = undefined
      report({ notQuoted: error.code, fate: error.fate })
    }
  }

  /** Cancels an open quote, and then quotes nothing, regardless of the result. */
  async function pull(): Promise<void> {
    // The result comes with the block that proves it, and is not awaited here.
    if (isOpen(live)) {
      report({ cancelling: live.nonce })
      void live.cancel().catch(() => {})
    }
    live = undefined
    const none = await sender.send(requestOf(NOTHING), { priority: 1 })
    await none.wait('preconfirmed')
    report({ pulled: true, nonce: none.nonce })
  }

  function requestOf({ bid, ask }: Price) {
    return { to: book, data: encodeFunctionData({ abi, functionName: 'quote', args: [bid, ask] }), gas: GAS }
  }

  return { counts, quote, pull }
}
