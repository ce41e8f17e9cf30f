import { type Address, type Hex, hexToBigInt, hexToNumber, toHex } from 'viem'
import type { PlainRpc } from '../demo/plainRpc.js'
import { walkBlocks } from '../demo/walk.js'
import type { Pooled } from './types.js'

/** A transaction of the account in a sealed block. */
export type Executed = {
  readonly nonce: number
  readonly hash: Hex
  readonly carried: string
  readonly reverted: boolean
}

/** The state of the chain, read by code that knows no sender. */
export type Evidence = {
  readonly firstNonce: number
  readonly count: number
  readonly executed: readonly Executed[]
  /** The transactions in the pool at the end, and all that were ever seen there. */
  readonly waiting: readonly Pooled[]
  readonly seen: ReadonlyMap<Hex, SeenInPool>
}

export type SeenInPool = { readonly nonce: number; readonly carried: string }

type RawTx = {
  readonly to: Address | null
  readonly input: Hex
  readonly value: Hex
}

/**
 * Identifies a payment by its content, not by its hash: the content was requested, while only the sender
 * knows the signed transaction.
 */
export function carriedBy(fields: { to?: Address | undefined; data?: Hex; value: bigint }): string {
  return `${fields.to ?? 'new'} ${fields.data ?? '0x'} ${fields.value}`.toLowerCase()
}

function carriedByRaw({ to, input, value }: RawTx): string {
  return carriedBy({ ...(to && { to }), data: input, value: hexToBigInt(value) })
}

/** Remembers each transaction of the account in the pool, so that one that vanishes is not forgotten. */
export function createPoolWatch(rpc: PlainRpc, pooled: () => Promise<readonly Pooled[]>) {
  const seen = new Map<Hex, SeenInPool>()
  return {
    seen: seen as ReadonlyMap<Hex, SeenInPool>,
    async look(): Promise<void> {
      const fresh = (await pooled()).filter(({ hash }) => !seen.has(hash))
      const calls = fresh.map(({ hash }) => ['eth_getTransactionByHash', hash] as const)
      const found = (await rpc.all(calls)) as (RawTx | null)[]
      for (const [index, { hash, nonce }] of fresh.entries()) {
        const raw = found[index]
        if (raw) seen.set(hash, { nonce, carried: carriedByRaw(raw) })
      }
    },
  }
}

/** Reads the account's transactions from the bodies of the sealed blocks after `fromBlock`. */
export async function readExecuted(
  rpc: PlainRpc,
  account: Address,
  fromBlock: number,
): Promise<{ readonly count: number; readonly executed: readonly Executed[] }> {
  const { last, transactions } = await walkBlocks(rpc, [account], fromBlock)
  return {
    count: hexToNumber((await rpc.call('eth_getTransactionCount', account, toHex(last))) as Hex),
    executed: (transactions.get(account) ?? []).map(({ nonce, hash, status, ...fields }) => ({
      nonce,
      hash,
      carried: carriedBy(fields),
      reverted: status === 'reverted',
    })),
  }
}
