import { baseOf, type ChainView, type Place, placeOf } from '../chain/chainView.js'
import { bigint, hexOf, isObject, number, type RpcObject } from '../serve/rpcTypes.js'

/** Where the child's answer about a transaction stands: before the fork, in the view, or not seen by it. */
function placeOfAnswer(view: ChainView, answer: RpcObject): Place | 'asIs' | undefined {
  const anvilNumber = number(answer, 'blockNumber')
  return anvilNumber <= baseOf(view).number ? 'asIs' : placeOf(view, anvilNumber)
}

/** A receipt with the numbers and the hash of the block that clients see; null when they cannot see it yet. */
export function renumberReceipt(view: ChainView, receipt: unknown): RpcObject | null {
  if (!isObject(receipt)) return null
  const place = placeOfAnswer(view, receipt)
  if (place === undefined) return null
  if (place === 'asIs') return receipt
  const { before } = place.flashblock
  return {
    ...receipt,
    ...blockFields(place, receipt),
    cumulativeGasUsed: hexOf(before.gas + bigint(receipt, 'cumulativeGasUsed')),
    logs: (receipt.logs as RpcObject[]).map((log) => renumberedLog(place, log)),
  }
}

/** A mined transaction likewise; one that the view does not hold yet shows as not mined. */
export function renumberTransaction(view: ChainView, transaction: unknown): RpcObject | null {
  if (!isObject(transaction)) return null
  if (transaction.blockNumber === null || transaction.blockNumber === undefined) return transaction
  const place = placeOfAnswer(view, transaction)
  if (place === 'asIs') return transaction
  if (place === undefined) {
    return { ...transaction, blockHash: null, blockNumber: null, transactionIndex: null }
  }
  return { ...transaction, ...blockFields(place, transaction) }
}

export function renumberLog(view: ChainView, log: RpcObject): RpcObject | undefined {
  const place = placeOfAnswer(view, log)
  if (place === undefined) return undefined
  return place === 'asIs' ? log : renumberedLog(place, log)
}

function renumberedLog(place: Place, log: RpcObject): RpcObject {
  return {
    ...log,
    ...blockFields(place, log),
    logIndex: hexOf(place.flashblock.before.logs + number(log, 'logIndex')),
  }
}

function blockFields(place: Place, answer: RpcObject): RpcObject {
  return {
    blockNumber: hexOf(place.number),
    blockHash: place.hash,
    transactionIndex: hexOf(place.flashblock.before.transactions + number(answer, 'transactionIndex')),
  }
}
