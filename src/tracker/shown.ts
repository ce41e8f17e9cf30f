import type { BlockRef } from '../ledger/slot.js'
import { headerCall } from '../rpc/codec.js'
import type { Port } from '../rpc/port.js'
import { readBlock } from './evidenceReplies.js'

/**
 * Whether any of these endpoints has the block under its number. False only where the first of them says that it has
 * not, and none has; undefined where that one does not answer.
 */
export async function isShownBy(
  ports: readonly Port[],
  block: BlockRef,
  timeoutMs: number,
): Promise<boolean | undefined> {
  const shown = await Promise.all(ports.map((port) => shows(port, block, timeoutMs)))
  return shown.includes(true) ? true : shown[0]
}

async function shows(port: Port, block: BlockRef, timeoutMs: number): Promise<boolean | undefined> {
  const [reply] = await port.batch([headerCall(block.number)], { timeoutMs })
  if (!reply?.ok) return undefined
  return reply.result === null ? false : readBlock(reply) && readBlock(reply)?.hash === block.hash
}
