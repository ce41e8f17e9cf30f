import { type Address, type Hex, hexToBigInt, hexToNumber, toHex } from 'viem'
import type { PlainRpc } from '../../src/cli/demo/plainRpc.js'
import type { Payment, Pooled } from './types.js'

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
  readonly from: string
  readonly to: Address | null
  readonly input: Hex
  readonly value: Hex
  readonly nonce: Hex
  readonly hash: Hex
}

/** By what it carries, never by its hash: what was asked is known, what was signed only the sender knows. */
export function carriedBy(fields: Pick<Payment, 'to' | 'data' | 'value'>): string {
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
  const last = hexToNumber((await rpc.call('eth_blockNumber')) as Hex)
  const numbers = Array.from({ length: last - fromBlock }, (_, index) => fromBlock + 1 + index)
  const blocks = await rpc.all(numbers.map((number) => ['eth_getBlockByNumber', toHex(number), true]))
  const own = (blocks as { transactions: readonly RawTx[] }[])
    .flatMap(({ transactions }) => transactions)
    .filter(({ from }) => from.toLowerCase() === account.toLowerCase())
  const receipts = await rpc.all(own.map(({ hash }) => ['eth_getTransactionReceipt', hash]))
  return {
    count: hexToNumber((await rpc.call('eth_getTransactionCount', account, toHex(last))) as Hex),
    executed: own.map((raw, index) => ({
      nonce: hexToNumber(raw.nonce),
      hash: raw.hash,
      carried: carriedByRaw(raw),
      reverted: hexToNumber((receipts[index] as { status: Hex }).status) === 0,
    })),
  }
}
