import type { Chain, Hex } from 'viem'
import { pause } from '../../test/support/pause.js'
import { startChild } from './children.js'
import type { Fault } from './fault.js'
import type { Order, Urls } from './flashProtocol.js'
import { CHAIN_ID, chainOf } from './node.js'

/** A devnet at its natural cadence, in a process of its own, that knows when each transaction could be seen. */
export type FlashChain = AsyncDisposable &
  Urls & {
    visibleAtMs(hash: Hex): Promise<number>
    polls(): Promise<number>
    /** The next request that sends is struck by it. */
    arm(fault: Fault): Promise<void>
    /** When it was. @throws Error where it was not */
    struckAtMs(): Promise<number>
  }

// The devnet's blocks. Who polls by itself goes by the chain's block time.
const BLOCK_MS = 2_000

/**
 * Its definition, with the one sequencer that viem's definitions of chains with flashblocks have: one transaction then
 * shows what `pending` includes.
 */
export const flashChainAt = (url: string): Chain => ({
  ...chainOf(url, { id: CHAIN_ID, blockMs: BLOCK_MS }),
  custom: { singleSequencer: true },
})

// A transaction can be waited for before the process that shows it has written down when.
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
      if (atMs === undefined) throw new Error('nothing was struck')
      return atMs
    },
    polls: async () => (await ask({ type: 'polls' })) ?? 0,
    [Symbol.asyncDispose]: child[Symbol.asyncDispose],
  }
}
