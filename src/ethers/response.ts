import {
  type Provider,
  Signature,
  Transaction,
  TransactionResponse,
  type TransactionResponseParams,
} from 'ethers'
import { rawOf, transactionOf } from '../lane/transaction/txInternals.js'
import type { Sender, Tx, TxRequest } from '../types/index.js'

/**
 * The ethers response of a sent transaction: its newest attempt, parsed from the signed bytes. If another
 * process has these, or they are no longer available, the provider is asked once.
 */
export async function responseOf(
  tx: Tx,
  sent: { readonly sender: Sender; readonly request: TxRequest; readonly provider: Provider },
): Promise<TransactionResponse> {
  const { sender, provider } = sent
  const raw = rawOf(tx)
  const signed = raw === undefined ? undefined : fromBytes(raw, sender.address)
  if (signed !== undefined) return new TransactionResponse(signed, provider)
  const hash = tx.hash as string
  const found = await provider.getTransaction(hash).catch(() => null)
  return new TransactionResponse(found ?? fromRequest(tx, sent), provider)
}

/** Undefined for a type that ethers cannot parse, which only one chain has. */
function fromBytes(raw: string, from: string): TransactionResponseParams | undefined {
  let read: Transaction
  try {
    read = Transaction.from(raw)
  } catch {
    return undefined
  }
  return {
    ...UNMINED,
    hash: read.hash as string,
    type: read.type ?? 0,
    to: read.to,
    // Already known. Recovering it would cost as much as a signature.
    from,
    nonce: read.nonce,
    gasLimit: read.gasLimit,
    gasPrice: read.gasPrice ?? read.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: read.maxPriorityFeePerGas,
    maxFeePerGas: read.maxFeePerGas,
    data: read.data,
    value: read.value,
    chainId: read.chainId,
    signature: read.signature as Signature,
    accessList: read.accessList,
    authorizationList: read.authorizationList ?? null,
  } as TransactionResponseParams
}

const UNMINED = { blockNumber: null, blockHash: null, index: 0 } as never as { readonly index: number }

/** The response without the bytes, and so without a signature. */
function fromRequest(
  tx: Tx,
  { sender, request }: { readonly sender: Sender; readonly request: TxRequest },
): TransactionResponseParams {
  const { to, data, value, accessList } = request
  const fees = tx.attempts.at(-1)?.fees
  const feeCap = fees?.maxFeePerGas
  return {
    ...UNMINED,
    hash: tx.hash as string,
    type: feeCap === undefined ? (accessList ? 1 : 0) : 2,
    to: to ?? null,
    from: sender.address,
    nonce: tx.nonce as number,
    gasLimit: transactionOf(tx)?.record.gas ?? request.gas ?? 0n,
    gasPrice: fees?.gasPrice ?? feeCap ?? 0n,
    maxPriorityFeePerGas: fees?.maxPriorityFeePerGas ?? null,
    maxFeePerGas: feeCap ?? null,
    data: data ?? '0x',
    value: value ?? 0n,
    chainId: BigInt(sender.chain.id),
    signature: Signature.from(),
    accessList: accessList ?? null,
    authorizationList: null,
  } as TransactionResponseParams
}
