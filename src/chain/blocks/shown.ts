import type { BlockRef } from '../../ledger/slot.js'
import { decodeHeader, headerCall } from '../../rpc/codec.js'
import type { Port } from '../../rpc/port.js'
import type { SealedBlock } from './follower.js'
import { decoded, sealedOf } from './tickParts.js'

/** The block itself, no block, or another one. Undefined: that is not known. */
export type Standing = 'same' | 'none' | SealedBlock | undefined

/**
 * What stands under the block's number: the block itself where any of these endpoints has it, else what the first of them
 * shows.
 */
export async function standingAt(
  ports: readonly Port[],
  block: BlockRef,
  timeoutMs: number,
): Promise<Standing> {
  const shown = await Promise.all(ports.map((port) => standingOn(port, block, timeoutMs)))
  return shown.includes('same') ? 'same' : shown[0]
}

async function standingOn(port: Port, block: BlockRef, timeoutMs: number): Promise<Standing> {
  const [reply] = await port.batch([headerCall(block.number)], { timeoutMs })
  if (!reply?.ok) return undefined
  if (reply.result === null) return 'none'
  const other = sealedOf(decoded(reply, decodeHeader))
  return other?.hash === block.hash ? 'same' : other
}
