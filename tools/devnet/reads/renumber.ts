import { baseOf, type ChainView, type Place, placeOf } from '../chain/chainView.js'
import { bigint, hexOf, isObject, number, type RpcObject } from '../rpc/rpcTypes.js'
import type { ReadContext } from './readContext.js'

/** The chain that a result is placed into, and whether placed results carry the time in milliseconds. */
type Placing = Pick<ReadContext, 'view' | 'hasTimestampMs'>

/** The block of a result from anvil: before the fork (`asIs`), in the view, or not in the view yet. */
function placeOfAnswer(view: ChainView, answer: RpcObject): Place | 'asIs' | undefined {
  const anvilNumber = number(answer, 'blockNumber')
  return anvilNumber <= baseOf(view).number ? 'asIs' : placeOf(view, anvilNumber)
}

/**
 * A receipt with the block number and hash that clients see; null if the view does not contain the block yet.
 */
export function renumberReceipt(placing: Placing, receipt: unknown): RpcObject | null {
  if (!isObject(receipt)) return null
  const place = placeOfAnswer(placing.view, receipt)
  if (place === undefined) return null
  if (place === 'asIs') return receipt
  const { before } = place.flashblock
  return {
    ...receipt,
    ...blockFields(place, receipt),
    cumulativeGasUsed: hexOf(before.gas + bigint(receipt, 'cumulativeGasUsed')),
    logs: (receipt.logs as RpcObject[]).map((log) => renumberedLog(placing, place, log)),
  }
}

/**
 * A mined transaction with the block number and hash that clients see. If the view does not contain the block
 * yet, the transaction is shown as not mined.
 */
export function renumberTransaction(placing: Placing, transaction: unknown): RpcObject | null {
  if (!isObject(transaction)) return null
  if (transaction.blockNumber === null || transaction.blockNumber === undefined) return transaction
  const place = placeOfAnswer(placing.view, transaction)
  if (place === 'asIs') return transaction
  if (place === undefined) {
    return { ...transaction, blockHash: null, blockNumber: null, transactionIndex: null }
  }
  return {
    ...transaction,
    ...blockFields(place, transaction),
    ...blockTimestampMs(placing, place.flashblock),
  }
}

export function renumberLog(placing: Placing, log: RpcObject): RpcObject | undefined {
  const place = placeOfAnswer(placing.view, log)
  if (place === undefined) return undefined
  return place === 'asIs' ? log : renumberedLog(placing, place, log)
}

function renumberedLog(placing: Placing, place: Place, log: RpcObject): RpcObject {
  return {
    ...log,
    ...blockFields(place, log),
    logIndex: hexOf(place.flashblock.before.logs + number(log, 'logIndex')),
    ...blockTimestampMs(placing, place.flashblock),
  }
}

function blockFields(place: Place, answer: RpcObject): RpcObject {
  return {
    blockNumber: hexOf(place.number),
    blockHash: place.hash,
    transactionIndex: hexOf(place.flashblock.before.transactions + number(answer, 'transactionIndex')),
  }
}

/** The field of transactions and logs; a receipt has it in its logs only, as on Base. */
export function blockTimestampMs(
  { hasTimestampMs }: Pick<Placing, 'hasTimestampMs'>,
  { timestampMs }: { readonly timestampMs: number },
): RpcObject {
  return hasTimestampMs ? { blockTimestampMs: hexOf(timestampMs) } : {}
}
