import type { Hex } from 'viem'
import { isTxlaneError } from '../../../src/index.js'
import type { RunningNode } from '../run/startNode.js'
import { freshAccount } from '../tools/accounts.js'
import { openLane, payment } from '../tools/lane.js'
import type { NodeCase } from './nodeCase.js'

const TAGS = ['safe', 'finalized'] as const
type Tag = (typeof TAGS)[number]

// geth --dev moves `finalized` once in 32 blocks of 1 s, anvil keeps it 64 blocks below the newest one.
const LIMIT_MS = 180_000

/** `wait` for a tag resolves no earlier than the node's own tag, or is refused where the node has none. */
export const stages: NodeCase = {
  name: 'safe and finalized are the tags of the node',
  async run(setting) {
    await using running = await setting.start({ mode: 'interval' })
    const fresh = await freshAccount(running)
    await using sender = await openLane(running, fresh, { lossDepth: 'child' })
    const tx = await sender.send(payment(1n))
    const block = Number((await tx.wait('sealed')).receipt.blockNumber)
    const waits = TAGS.map((tag) => outcomeOf(running, block, tag, tx.wait(tag, { timeoutMs: LIMIT_MS })))
    const outcomes = await Promise.all(waits)
    return { ok: outcomes.every(({ ok }) => ok), says: outcomes.map(({ says }) => says).join('; ') }
  },
}

async function outcomeOf(running: RunningNode, block: number, tag: Tag, wait: Promise<unknown>) {
  try {
    await wait
    const at = await numberAt(running, tag)
    return { ok: at !== undefined && at >= block, says: `${tag} of block ${block} with the tag at ${at}` }
  } catch (error) {
    const isRefused = isTxlaneError(error) && error.code === 'UNSUPPORTED'
    return { ok: isRefused, says: isRefused ? `the node has no ${tag} tag` : `${tag}: ${String(error)}` }
  }
}

async function numberAt({ rpc }: RunningNode, tag: Tag): Promise<number | undefined> {
  const block = (await rpc.call('eth_getBlockByNumber', tag, false)) as { readonly number: Hex } | null
  return block === null ? undefined : Number(block.number)
}
