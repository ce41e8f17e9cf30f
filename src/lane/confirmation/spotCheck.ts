import { readBlock } from '../../chain/blocks/evidenceReads.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { BlockRef } from '../../ledger/slot.js'
import { queueMicro } from '../../platform/microtask.js'
import type { Repeats } from '../../platform/repeats.js'
import { reportError } from '../../platform/reportError.js'
import { headerCall } from '../../rpc/codec.js'
import type { Limits } from '../../types/index.js'

type SpotCheckContext = {
  readonly endpointPool: Pick<EndpointPool, 'reader'>
  readonly limits: Limits
  readonly errors: Repeats<Error>
  readonly closed: boolean
}

/**
 * Compares single blocks with the chain that lie too far below the head to be walked. A lane that starts
 * again after a long time does not know which blocks left meanwhile.
 */
export type SpotCheck = {
  /**
   * Requests the answer whether the block is still on the chain. Repeated requests cause one read at a time.
   */
  ask(nonce: number, block: BlockRef): void
}

const AT_ONCE = 32

export function createSpotCheck(
  context: SpotCheckContext,
  answer: (nonce: number, block: BlockRef, stands: boolean) => void,
): SpotCheck {
  const { endpointPool, limits } = context
  const asked = new Map<number, BlockRef>()
  let reading = false

  async function read(): Promise<void> {
    const some = [...asked].slice(0, AT_ONCE)
    const calls = some.map(([, { number }]) => headerCall(number))
    try {
      const replies = await endpointPool.reader.port.batch(calls, { timeoutMs: limits.readTimeoutMs })
      if (context.closed) return
      for (const [index, [nonce, block]] of some.entries()) {
        const found = readBlock(replies[index])
        // Without an answer nothing is reported; the caller asks again.
        if (found?.hash) answer(nonce, block, found.hash === block.hash)
      }
    } finally {
      for (const [nonce] of some) asked.delete(nonce)
      reading = false
    }
  }

  return {
    ask(nonce, block) {
      asked.set(nonce, block)
      if (reading) return
      reading = true
      // Requests of the same turn are sent in one batch, a microtask later.
      queueMicro(() => {
        read().catch((error: unknown) => {
          reportError(context, error)
        })
      })
    },
  }
}
