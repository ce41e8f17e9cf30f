import { type Address, type Hex, type LocalAccount, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { PlainRpc } from '../../demo/plainRpc.js'
import { pause } from '../../support/pause.js'
import type { RunningNode } from '../run/startNode.js'

/** A new account, and the block after which its transactions are. */
export type Fresh = {
  readonly account: LocalAccount
  readonly privateKey: Hex
  readonly fromBlock: number
  readonly firstNonce: number
}

const ETHER = 10n ** 18n
const LOOKS = 200
const LOOK_MS = 50

export async function freshAccount(running: RunningNode, wei = 100n * ETHER): Promise<Fresh> {
  const fromBlock = await blockNumber(running)
  const privateKey = generatePrivateKey()
  const account = privateKeyToAccount(privateKey)
  await fund(running, account.address, wei)
  const { firstNonce = 0, setNonce } = running.description
  await setNonce?.(running.rpc, account.address, firstNonce)
  return { account, privateKey, fromBlock, firstNonce }
}

export async function fund(running: RunningNode, to: Address, wei: bigint): Promise<void> {
  const { description, rpc } = running
  if (description.endow !== undefined) return description.endow(rpc, to, wei)
  if (wei === 0n) return
  const [from] = (await running.rpc.call('eth_accounts')) as Hex[]
  const hash = await running.rpc.call('eth_sendTransaction', { from, to, value: toHex(wei) })
  await mined(running, hash as Hex)
}

/**
 * Waits until the transaction is in a block; in the mode `manual`, makes the block. @throws Error if it
 * never is
 */
export async function mined(running: RunningNode, hash: Hex): Promise<void> {
  for (let looks = 0; looks < LOOKS; looks++) {
    if (running.mode === 'manual') await running.mine()
    if (await hasReceipt(running.rpc, hash)) return running.description.poolFollowed?.(running.rpc, hash)
    await pause(LOOK_MS)
  }
  throw new Error(`The node did not mine ${hash}.`)
}

export async function blockNumber({ rpc }: RunningNode): Promise<number> {
  return Number((await rpc.call('eth_blockNumber')) as Hex)
}

const INDEXING = 'transaction indexing is in progress'

/**
 * True if the node shows the receipt. While geth's index is behind its chain, just after its start, it
 * answers with an error (`GetTransactionReceipt` in internal/ethapi/api.go): the receipt is not visible yet.
 */
export async function hasReceipt({ call }: Pick<PlainRpc, 'call'>, hash: unknown): Promise<boolean> {
  try {
    return (await call('eth_getTransactionReceipt', hash)) !== null
  } catch (error) {
    if (error instanceof Error && error.message.includes(INDEXING)) return false
    throw error
  }
}
