import type { Chain, Hex } from 'viem'
import { pause } from '../../test/support/pause.js'
import { startChild } from './children.js'
import type { Fault } from './fault.js'
import type { Order, Urls } from './flashProtocol.js'
import { CHAIN_ID, chainOf } from './node.js'

/**
 * A devnet with its default cadence in a separate process, which records when each transaction became
 * visible.
 */
export type FlashChain = AsyncDisposable &
  Urls & {
    visibleAtMs(hash: Hex): Promise<number>
    polls(): Promise<number>
    /** The fault hits the next request with a send. */
    arm(fault: Fault): Promise<void>
    /** Time of the hit. @throws Error if the fault has not hit yet */
    struckAtMs(): Promise<number>
  }

// The devnet's block time. Libraries that poll use the chain's block time.
const BLOCK_MS = 2_000

/**
 * The chain's definition, with the flag `singleSequencer`, which viem's definitions of flashblock chains
 * have. With it, one transaction shows which ones `pending` includes.
 */
export const flashChainAt = (url: string): Chain => ({
  ...chainOf(url, { id: CHAIN_ID, blockMs: BLOCK_MS }),
  custom: { singleSequencer: true },
})

// A transaction may be known before the process that shows it has recorded the time.
const LOOKS_MAX = 200
const LOOK_MS = 20

export async function startFlashChain(): Promise<FlashChain> {
  const child = startChild(new URL('flashProcess.ts', import.meta.url))
  const ask = (order: Order) => child.ask(order) as Promise<number | undefined>
  const { url, directUrl } = (await child.started) as Urls
  return {
    url,
    directUrl,
    async visibleAtMs(hash) {
      for (let left = LOOKS_MAX; left > 0; left--) {
        const atMs = await ask({ type: 'visible', hash })
        if (atMs !== undefined) return atMs
        await pause(LOOK_MS)
      }
      throw new Error(`${hash} was in no block`)
    },
    async arm(fault) {
      await ask({ type: 'arm', fault })
    },
    async struckAtMs() {
      const atMs = await ask({ type: 'struck' })
      if (atMs === undefined) throw new Error('the fault has not hit a request')
      return atMs
    },
    polls: async () => (await ask({ type: 'polls' })) ?? 0,
    [Symbol.asyncDispose]: child[Symbol.asyncDispose],
  }
}
