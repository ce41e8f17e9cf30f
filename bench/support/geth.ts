import { type Hex, toHex } from 'viem'
import { gethCommand } from '../../test/nodes/find/geth.js'
import { startNodeProcess } from '../../test/nodes/run/nodeProcess.js'
import { hasReceipt } from '../../test/nodes/tools/accounts.js'
import { pause } from '../../test/support/pause.js'
import { type ChainFacts, type Fresh, headOf, keyOf, type Node } from './node.js'

/** A stock geth with its own chain. */
export type Geth = Node & {
  readonly chain: ChainFacts
  /** Result of `web3_clientVersion`. */
  readonly version: string
}

const FUNDS = toHex(10n ** 24n)
const LOOKS = 1_200
const LOOK_MS = 50

/**
 * Starts `geth --dev` with a fixed block period and the default pool. A block holds 14,285 transfers by
 * default.
 */
export async function startGeth(
  file: string,
  { periodS = 1, gasLimit = 300_000_000 }: { readonly periodS?: number; readonly gasLimit?: number } = {},
): Promise<Geth> {
  const blocks = ['--dev.period', `${periodS}`, '--dev.gaslimit', `${gasLimit}`]
  const running = await startNodeProcess(gethCommand(file), blocks)
  const [id, version] = await running.rpc.all([['eth_chainId'], ['web3_clientVersion']])
  return {
    url: running.url,
    rpc: running.rpc,
    chain: { id: Number(id as Hex), blockMs: periodS * 1_000 },
    version: String(version),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

/** A new funded account. The same words give the same account. */
export async function paidAccount({ rpc }: Node, words: string): Promise<Fresh> {
  const [from] = (await rpc.call('eth_accounts')) as Hex[]
  const key = keyOf(words)
  const paid = await rpc.call('eth_sendTransaction', { from, to: key.address, value: FUNDS })
  for (let looks = 0; looks < LOOKS; looks++, await pause(LOOK_MS)) {
    if (!(await hasReceipt(rpc, paid))) continue
    return { ...key, fromBlock: await headOf(rpc) }
  }
  throw new Error('the node did not pay the account')
}
