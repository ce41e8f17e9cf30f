import { type Address, type Hex, hexToBigInt, hexToNumber, toHex } from 'viem'
import type { PlainRpc } from '../../tools/cli/demo/plainRpc.js'
import { walkBlocks } from '../../tools/cli/demo/walk.js'
import type { Pooled } from './types.js'

/** A transaction of the account in a sealed block. */
export type Executed = {
  readonly nonce: number
  readonly hash: Hex
  readonly carried: string
  readonly reverted: boolean
}

/** What the chain itself says, read by code that knows no sender. */
export type Evidence = {
  readonly firstNonce: number
  readonly count: number
  readonly executed: readonly Executed[]
  /** What waits in the pool in the end, and all that was ever seen there. */
  readonly waiting: readonly Pooled[]
  readonly seen: ReadonlyMap<Hex, SeenInPool>
}

export type SeenInPool = { readonly nonce: number; readonly carried: string }

type RawTx = {
  readonly to: Address | null
  readonly input: Hex
  readonly value: Hex
}

/** By what it carries, never by its hash: what was asked is known, what was signed only the sender knows. */
export function carriedBy(fields: { to?: Address | undefined; data?: Hex; value: bigint }): string {
  return `${fields.to ?? 'new'} ${fields.data ?? '0x'} ${fields.value}`.toLowerCase()
}

function carriedByRaw({ to, input, value }: RawTx): string {
  return carriedBy({ ...(to && { to }), data: input, value: hexToBigInt(value) })
}

/** Remembers each of the account's transactions that waits in the pool, so that one that vanishes is not forgotten. */
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

/** Walks the sealed blocks after `fromBlock` and takes the account's transactions out of their bodies. */
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
