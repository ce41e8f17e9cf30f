import { type Hex, toHex } from 'viem'
import { gethCommand } from '../../test/nodes/find/geth.js'
import { startNodeProcess } from '../../test/nodes/run/nodeProcess.js'
import { pause } from '../../test/support/pause.js'
import { type ChainFacts, type Fresh, headOf, keyOf, type Node } from './node.js'

/** A stock geth with a chain of its own. */
export type Geth = Node & {
  readonly chain: ChainFacts
  /** As it says itself. */
  readonly version: string
}

const FUNDS = toHex(10n ** 24n)
const LOOKS = 1_200
const LOOK_MS = 50

/** `--dev` with a block every so many seconds that holds 14,285 transfers, and its pool as it is. */
export async function startGeth(file: string, periodS = 1): Promise<Geth> {
  const blocks = ['--dev.period', `${periodS}`, '--dev.gaslimit', '300000000']
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

/** New accounts with money, one for each of the words; all of them are paid in one block. */
async function paidAccounts({ rpc }: Node, words: readonly string[]): Promise<readonly Fresh[]> {
  const [from] = (await rpc.call('eth_accounts')) as Hex[]
  const keys = words.map(keyOf)
  let last: unknown
  for (const { address } of keys)
    last = await rpc.call('eth_sendTransaction', { from, to: address, value: FUNDS })
  for (let looks = 0; looks < LOOKS; looks++, await pause(LOOK_MS)) {
    if ((await rpc.call('eth_getTransactionReceipt', last)) === null) continue
    const fromBlock = await headOf(rpc)
    return keys.map((key) => ({ ...key, fromBlock }))
  }
  throw new Error('the node did not pay the accounts')
}

export async function paidAccount(node: Node, words: string): Promise<Fresh> {
  const [fresh] = await paidAccounts(node, [words])
  if (fresh === undefined) throw new Error('no account')
  return fresh
}
