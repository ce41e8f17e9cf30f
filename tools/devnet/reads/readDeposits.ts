import type { DepositAt } from '../chain/chainState.js'
import { type Place, placeOf } from '../chain/chainView.js'
import { hexOf, type RpcObject } from '../rpc/rpcTypes.js'
import type { ReadContext } from './readContext.js'
import { blockTimestampMs } from './renumber.js'

export type PlacedDeposit = DepositAt & { readonly place: Place }

/** A deposit of a block in the view, by its hash. */
export function depositIn(context: ReadContext, hash: unknown): PlacedDeposit | undefined {
  const found = typeof hash === 'string' ? context.deposit(hash) : undefined
  const place = found && placeOf(context.view, found.anvilNumber)
  return found && place && { ...found, place }
}

export function depositTransaction(context: ReadContext, deposit: PlacedDeposit): RpcObject {
  const { flashblock } = deposit.place
  return {
    ...deposit.deposit.transaction,
    ...blockFields(deposit),
    blockTimestamp: flashblock.header.timestamp,
    ...blockTimestampMs(context, flashblock),
  }
}

export function depositReceipt(deposit: PlacedDeposit): RpcObject {
  const { deposits } = deposit.place.flashblock
  const before = deposits.slice(0, deposit.index + 1)
  return {
    ...deposit.deposit.receipt,
    ...blockFields(deposit),
    cumulativeGasUsed: hexOf(before.reduce((sum, { gasUsed }) => sum + gasUsed, 0n)),
  }
}

function blockFields({ place, index }: PlacedDeposit): RpcObject {
  return {
    blockNumber: hexOf(place.number),
    blockHash: place.hash,
    transactionIndex: hexOf(index),
  }
}
