import {
  type Address,
  type Chain,
  type Client,
  type Hash,
  type Hex,
  type HttpTransport,
  keccak256,
  type LocalAccount,
} from 'viem'
import { estimateFeesPerGas, getTransactionCount, sendRawTransaction } from 'viem/actions'
import { outbid } from '../../../src/ledger/fees.js'
import { systemClock } from '../../../src/platform/clock.js'
import { classifySendError, type SendReason } from '../../../src/rpc/classify.js'
import { Refusal } from '../shared/program.js'

type Rpc = Client<HttpTransport, Chain>

export type DynamicFees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/** geth and reth require 10% more on both fees (geth legacypool, `PriceBump`). */
const RULE = { percent: 10 }

/** The current fees, raised enough to replace `old` in a pool. @throws Refusal above the ceiling */
export async function feesAbove(
  client: Rpc,
  old: DynamicFees | undefined,
  ceiling: bigint | undefined,
): Promise<DynamicFees> {
  const market = await estimateFeesPerGas(client).catch(() => {
    throw new Refusal('The node does not estimate fees.')
  })
  const limit =
    ceiling ?? 10n * (old && old.maxFeePerGas > market.maxFeePerGas ? old.maxFeePerGas : market.maxFeePerGas)
  const fees = outbid(old === undefined ? [] : [old], {
    rule: RULE,
    market,
    ceiling: { maxFeePerGas: limit },
  })
  if (fees === undefined || 'gasPrice' in fees) {
    throw new Refusal(`The replacement needs more than the ceiling of ${limit} wei per gas.`)
  }
  return fees
}

export type Plain = {
  readonly nonce: number
  readonly to: Address | undefined
  readonly value: bigint
  readonly data: Hex
  readonly gas: bigint
}

/** The node's answer. `taken`: another transaction has the nonce, in its pool or in a block. */
export type HandedOver = { readonly hash: Hash; readonly taken: boolean }

const TAKEN: ReadonlySet<SendReason> = new Set(['replacementUnderpriced', 'nonceTooLow'])

/**
 * Signs and sends a transaction. It counts as sent unless the node clearly refuses it.
 * @throws Refusal with the node's error
 */
export async function handOver(
  client: Rpc,
  account: LocalAccount,
  tx: Plain,
  fees: DynamicFees,
): Promise<HandedOver> {
  const serializedTransaction = await account.signTransaction({
    type: 'eip1559',
    chainId: client.chain.id,
    ...tx,
    ...fees,
  })
  const hash = keccak256(serializedTransaction)
  try {
    await sendRawTransaction(client, { serializedTransaction })
  } catch (error) {
    const { outcome, reason } = classifySendError(error)
    if (TAKEN.has(reason)) return { hash, taken: true }
    if (outcome !== 'accepted' && outcome !== 'unknown') {
      throw new Refusal(`Nonce ${tx.nonce}: the node refused it: ${shortOf(error)}.`)
    }
  }
  return { hash, taken: false }
}

const shortOf = (error: unknown): string =>
  (error as { details?: string; shortMessage?: string }).details ?? (error as Error).message

const LOOK_MS = 500

/** Waits until sealed blocks have used every nonce below this one. Resolves to false on timeout. */
export async function usedBelow(
  client: Rpc,
  address: Address,
  nonce: number,
  timeoutMs: number,
): Promise<boolean> {
  const until = systemClock.now() + timeoutMs
  for (;;) {
    const count = await getTransactionCount(client, { address, blockTag: 'latest' }).catch(() => 0)
    if (count >= nonce) return true
    if (systemClock.now() >= until) return false
    await new Promise<void>((resolve) => void systemClock.setTimer(resolve, LOOK_MS))
  }
}
