import { type Address, decodeErrorResult, getAddress, type Hex } from 'viem'
import type { TxlaneError } from '../../errors/base.js'
import { redactForeign } from '../../errors/redact.js'
import type { Fees } from '../../ledger/fees.js'
import type { RecordedFees, TxRecord, WaitReason } from '../../types/index.js'
import type { StoredAttempt, StoredCosts, StoredTransaction } from '../../types/store.js'
import { REVERTED } from '../../validate/stageOrder.js'
import { attemptsOf } from './attempts.js'
import { describe, storedFailure, type Transaction } from './transaction.js'

/**
 * The record of a transaction that callers may store and print. `waitingFor`: the reason why it has not
 * progressed.
 */
export function recordOf(transaction: Transaction, waitingFor: WaitReason | undefined): TxRecord {
  const { record, failure, endPersisted } = transaction
  const { lane, request, block, status, replaces, supersededBy } = record
  const gas = record.gas ?? request.gas
  const { id, ...place } = describe(transaction)
  const { updatedAtMs, finishedAtMs, costs, group } = record
  const attempts = attemptsOf(record)
  const newest = attempts.at(-1)
  // A crash can undo an end that is not in the store yet (P5).
  const isEnded = failure !== undefined && endPersisted
  const isHidden = failure !== undefined && !endPersisted
  return {
    id,
    chainId: lane.chainId,
    from: getAddress(lane.address),
    ...(request.to ? { to: request.to as Address } : {}),
    value: `${request.value ?? 0n}`,
    ...place,
    ...(block === undefined ? {} : { block: { number: block.number, hash: block.hash } }),
    ...(status === undefined ? {} : { status }),
    ...(failure && isEnded ? { error: errorOf(failure) } : {}),
    ...(status === 'reverted' ? { error: revertedOf(record) } : {}),
    ...(gas === undefined ? {} : { gas: `${gas}` }),
    ...(newest === undefined ? {} : { fees: feesOf(newest.fees) }),
    attempts: attempts.map(attemptOf),
    ...(costs === undefined ? {} : { costs: costsOf(costs) }),
    ...(group === undefined ? {} : { group }),
    ...(replaces === undefined ? {} : { replaces }),
    ...(supersededBy !== undefined && isEnded ? { supersededBy } : {}),
    createdAt: isoTime(record.createdAtMs),
    ...(updatedAtMs === undefined ? {} : { updatedAt: isoTime(updatedAtMs) }),
    ...(finishedAtMs === undefined || isHidden ? {} : { finishedAt: isoTime(finishedAtMs) }),
    ...(waitingFor === undefined ? {} : { waitingFor: waitingFor.sentence }),
  }
}

/** Prints a transaction: its record on one screen, with `attempts` only if there are several. */
export function printedTx(
  { attempts, ...record }: TxRecord,
  options?: object,
  inspect?: (value: object, options?: object) => string,
): string | object {
  const offers = attempts.map(({ nonce, hash, fees }) => `${nonce} ${hash} ${Object.values(fees).join(' ')}`)
  const shown = attempts.length > 1 ? { ...record, attempts: offers } : record
  // A caller that passes no `inspect` gets the object for a printer of its own.
  return inspect ? `Tx ${inspect(shown, options)}` : shown
}

function revertedOf({ revertData: data }: StoredTransaction): NonNullable<TxRecord['error']> {
  return { code: 'REVERTED', fate: 'executed', message: REVERTED, ...gaveBack(data) }
}

function gaveBack(data: Hex | undefined): Pick<NonNullable<TxRecord['error']>, 'reason' | 'data'> {
  const reason = data && reasonIn(data)
  return { ...(reason === undefined ? {} : { reason }), ...(data === undefined ? {} : { data }) }
}

function errorOf(failure: TxlaneError): NonNullable<TxRecord['error']> {
  const { code, message, details, data } = storedFailure(failure)
  return {
    code,
    fate: failure.fate,
    message,
    ...(details === undefined ? {} : { details }),
    ...gaveBack(data),
  }
}

/** The text of Solidity's `require`, `revert` and panics. Custom errors need an ABI. */
function reasonIn(data: Hex): string | undefined {
  try {
    const { errorName, args } = decodeErrorResult({ abi: [], data })
    return redactForeign(errorName === 'Error' ? `${args[0]}` : `${errorName}(${args.join(', ')})`)
  } catch {
    return undefined
  }
}

function costsOf({
  gasUsed,
  effectiveGasPrice,
  l1Fee,
  totalFee,
}: StoredCosts): NonNullable<TxRecord['costs']> {
  const l1 = l1Fee === undefined ? {} : { l1Fee: `${l1Fee}` }
  return { gasUsed: `${gasUsed}`, effectiveGasPrice: `${effectiveGasPrice}`, ...l1, totalFee: `${totalFee}` }
}

function attemptOf({ nonce, hash, fees, signedAtMs }: StoredAttempt): TxRecord['attempts'][number] {
  const signedAt = signedAtMs === undefined ? {} : { signedAt: isoTime(signedAtMs) }
  return { nonce, hash, fees: feesOf(fees), ...signedAt }
}

const isoTime = (ms: number) => new Date(ms).toISOString()

function feesOf(fees: Fees): RecordedFees {
  if ('gasPrice' in fees) return { gasPrice: `${fees.gasPrice}` }
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  return { maxFeePerGas: `${maxFeePerGas}`, maxPriorityFeePerGas: `${maxPriorityFeePerGas}` }
}
