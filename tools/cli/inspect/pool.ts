import {
  type Address,
  type Chain,
  type Client,
  type Hash,
  type Hex,
  type HttpTransport,
  hexToBigInt,
  hexToNumber,
} from 'viem'

/** A transaction in the node's pool. */
export type Waiting = {
  readonly nonce: number
  readonly hash: Hash
  readonly to: Address | null
  readonly value: bigint
  readonly input: Hex
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly type: Hex
}

type Rpc = Client<HttpTransport, Chain>

type PoolAnswer = Readonly<Record<'pending' | 'queued', Readonly<Record<string, RawWaiting>> | undefined>>
type RawWaiting = Readonly<
  Record<'hash' | 'to' | 'value' | 'input' | 'gas' | 'gasPrice' | 'type', string | undefined>
> & {
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
}

/**
 * An account's transactions in the pool, by nonce; undefined if the node does not show its pool. geth and
 * reth serve `txpool_contentFrom` (geth docs, txpool namespace); most hosted endpoints do not.
 */
export async function poolOf(
  client: Rpc,
  address: Address,
): Promise<ReadonlyMap<number, Waiting> | undefined> {
  try {
    const answer = (await client.request({
      method: 'txpool_contentFrom',
      params: [address],
    } as never)) as PoolAnswer
    const all = [answer.pending ?? {}, answer.queued ?? {}].flatMap((part) => Object.entries(part))
    const numbered = all.map(([nonce, raw]) => [Number(nonce), raw] as const)
    return new Map(numbered.filter(isNonce).map(([nonce, raw]) => [nonce, waitingOf(nonce, raw)]))
  } catch {
    return undefined
  }
}

const isNonce = ([nonce]: readonly [number, RawWaiting]) => Number.isSafeInteger(nonce) && nonce >= 0

/** A pooled transaction by hash; undefined if the node does not know it or a block contains it. */
export async function waitingByHash(
  client: Rpc,
  hash: Hash,
): Promise<(Waiting & { from: Address }) | undefined> {
  const raw = (await client.request({ method: 'eth_getTransactionByHash', params: [hash] })) as
    | (RawWaiting & { nonce: Hex; from: Address; blockNumber: Hex | null })
    | null
  if (raw === null || raw.blockNumber !== null) return undefined
  return { ...waitingOf(hexToNumber(raw.nonce), raw), from: raw.from }
}

function waitingOf(nonce: number, raw: RawWaiting): Waiting {
  const price = raw.gasPrice ?? '0x0'
  return {
    nonce,
    hash: raw.hash as Hash,
    to: (raw.to ?? null) as Address | null,
    value: hexToBigInt((raw.value ?? '0x0') as Hex),
    input: (raw.input ?? '0x') as Hex,
    gas: hexToBigInt((raw.gas ?? '0x0') as Hex),
    maxFeePerGas: hexToBigInt((raw.maxFeePerGas ?? price) as Hex),
    maxPriorityFeePerGas: hexToBigInt((raw.maxPriorityFeePerGas ?? price) as Hex),
    type: (raw.type ?? '0x0') as Hex,
  }
}
