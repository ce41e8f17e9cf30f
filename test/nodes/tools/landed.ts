import type { Hex } from 'viem'
import type { RunningNode } from '../run/startNode.js'
import { blockNumber, type Fresh } from './accounts.js'

type Block = { readonly transactions: readonly Executed[] }

/** A transaction as a block shows it. */
export type Executed = { readonly hash: Hex; readonly from: Hex; readonly nonce: Hex; readonly value: Hex }

/** An account's transactions in the blocks, read without any code of the library. */
export type Landed = {
  readonly all: readonly Executed[]
  /** True if its nonces rise by 1 in the order of the blocks, from the first on. */
  readonly dense: boolean
  /** The number of transactions with a value. */
  readonly paid: number
  /** The number of different values among them: each payment of a case has its own. */
  readonly distinct: number
  readonly noops: number
}

export async function landedOf(
  running: RunningNode,
  { account, fromBlock, firstNonce }: Fresh,
): Promise<Landed> {
  const count = (await blockNumber(running)) - fromBlock
  const numbers = Array.from({ length: count }, (_, index) => `0x${(fromBlock + 1 + index).toString(16)}`)
  const blocks = (await running.rpc.all(
    numbers.map((number) => ['eth_getBlockByNumber', number, true] as const),
    20,
  )) as readonly Block[]
  const own = account.address.toLowerCase()
  const all = blocks.flatMap(({ transactions }) =>
    transactions.filter(({ from }) => from.toLowerCase() === own),
  )
  const values = all.map(({ value }) => value).filter((value) => value !== '0x0')
  return {
    all,
    dense: all.every(({ nonce }, index) => Number(nonce) === firstNonce + index),
    paid: values.length,
    distinct: new Set(values).size,
    noops: all.length - values.length,
  }
}

/** True if each of `count` payments is there once, and no nonce is empty. */
export function isOnce({ dense, paid, distinct }: Landed, count: number): boolean {
  return dense && paid === count && distinct === count
}
