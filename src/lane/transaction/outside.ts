import {
  type Address,
  type Hash,
  type Hex,
  parseTransaction,
  recoverTransactionAddress,
  type TransactionSerialized,
} from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { Fees } from '../../ledger/fees.js'
import { hashOf } from '../../platform/hash.js'
import type { TxRequest } from '../../types/index.js'
import type { LaneKey } from '../../types/store.js'
import { outsideId } from '../../validate/stageOrder.js'
import { unsupported } from '../../validate/validate.js'
import { newQueued } from './stored.js'
import type { Transaction } from './transaction.js'

/** A transaction that outside code signed, parsed from its bytes and checked against the lane. */
export type Envelope = {
  readonly raw: Hex
  readonly hash: Hash
  readonly nonce: number
  readonly gas: bigint
  readonly fees: Fees
  readonly request: TxRequest
}

type Parsed = {
  readonly chainId?: number
  readonly nonce?: number
  readonly gas?: bigint
  readonly gasPrice?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
  readonly to?: Address | null
  readonly value?: bigint
  readonly data?: Hex
  readonly sidecars?: unknown
  readonly r?: Hex
}

/**
 * Parses signed bytes and checks that they belong to this lane: its chain and its account's signature.
 *
 * @throws TxlaneError `INVALID`, `CHAIN_MISMATCH` or `UNSUPPORTED`; nothing was stored in that case
 */
export async function readEnvelope(argument: string, raw: unknown, lane: LaneKey): Promise<Envelope> {
  if (typeof raw !== 'string' || !/^0x([0-9a-f]{2})+$/i.test(raw))
    throw invalid(argument, raw, 'signed transaction bytes')
  const serialized = raw.toLowerCase() as Hex
  const parsed = parse(argument, serialized)
  const { chainId, nonce = 0, gas = 0n, to = null, value = 0n, data } = parsed
  if (parsed.r === undefined) throw invalid(argument, raw, 'bytes with a signature')
  // Without replay protection (EIP-155) the bytes would be valid on every chain.
  if (chainId === undefined) throw invalid(argument, raw, 'bytes that name their chain (EIP-155)')
  if (chainId !== lane.chainId) throw otherChain(chainId, lane.chainId)
  const signer = await recoverTransactionAddress({
    serializedTransaction: serialized as TransactionSerialized,
  }).catch(() => {
    throw invalid(argument, raw, 'bytes with a valid signature')
  })
  if (signer.toLowerCase() !== lane.address)
    throw invalid(argument, signer, `bytes signed by the lane's account ${lane.address}`)
  const request = { to, value, ...(data === undefined ? {} : { data }) } as TxRequest
  return { raw: serialized, hash: hashOf(serialized), nonce, gas, fees: feesOf(parsed), request }
}

function parse(argument: string, serialized: Hex): Parsed {
  const type = Number(serialized.slice(0, 4))
  // EIP-2718: a first byte below 0x80 is a type. viem parses those of Ethereum itself, 1 to 4.
  if (type < 0x80 && !(type >= 1 && type <= 4)) {
    throw unsupported(
      `transactions of type ${serialized.slice(0, 4)}`,
      'settle the reservation when they were sent',
    )
  }
  let parsed: Parsed
  try {
    parsed = parseTransaction(serialized as TransactionSerialized) as unknown as Parsed
  } catch {
    throw invalid(argument, serialized, 'a serialized transaction')
  }
  if (parsed.sidecars !== undefined) {
    // The hash of the network form (EIP-4844) differs from the hash of its bytes.
    throw unsupported('blob transactions with their sidecars', 'commit the bytes without the sidecars')
  }
  return parsed
}

function feesOf({ gasPrice, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: Parsed): Fees {
  return gasPrice === undefined ? { maxFeePerGas, maxPriorityFeePerGas } : { gasPrice }
}

function otherChain(given: number, own: number): TxlaneError {
  return new TxlaneError(`The bytes are for chain ${given}, the lane is on chain ${own}.`, {
    code: 'CHAIN_MISMATCH',
    fate: 'notExecuted',
  })
}

/** The internal transaction for bytes that outside code signed. It is tracked like any other. */
export function outsideTransaction(
  envelope: Envelope,
  given: { lane: LaneKey; sequence: number; createdAtMs: number },
): Transaction {
  return newQueued({
    ...given,
    id: outsideId(envelope.hash),
    fingerprint: envelope.hash,
    request: envelope.request,
    priority: 0,
    gas: envelope.gas,
    feeCeiling: undefined,
    expiresAtMs: undefined,
    onExpiry: 'leave',
    replaces: undefined,
    needs: undefined,
  })
}
