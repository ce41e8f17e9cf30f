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
  const target = placeOfAnswer(view, receipt)
  if (target === undefined) return null
  if (target === 'asIs') return receipt
  const { before } = target.flashblock
  return {
    ...receipt,
    ...blockFields(target, receipt),
    cumulativeGasUsed: hexOf(before.gas + bigint(receipt, 'cumulativeGasUsed')),
    logs: (receipt.logs as RpcObject[]).map((log) => renumberedLog(target, log)),
  }
}

/** A mined transaction likewise; one that the view does not hold yet shows as not mined. */
export function renumberTransaction(view: ChainView, transaction: unknown): RpcObject | null {
  if (!isObject(transaction)) return null
  if (transaction.blockNumber === null || transaction.blockNumber === undefined) return transaction
  const target = placeOfAnswer(view, transaction)
  if (target === 'asIs') return transaction
  if (target === undefined) {
    return { ...transaction, blockHash: null, blockNumber: null, transactionIndex: null }
  }
  return { ...transaction, ...blockFields(target, transaction) }
}

export function renumberLog(view: ChainView, log: RpcObject): RpcObject | undefined {
  const target = placeOfAnswer(view, log)
  if (target === undefined) return undefined
  return target === 'asIs' ? log : renumberedLog(target, log)
}

function renumberedLog(target: Place, log: RpcObject): RpcObject {
  return {
    ...log,
    ...blockFields(target, log),
    logIndex: hexOf(target.flashblock.before.logs + number(log, 'logIndex')),
  }
}

function blockFields(target: Place, answer: RpcObject): RpcObject {
  return {
    blockNumber: hexOf(target.number),
    blockHash: target.hash,
    transactionIndex: hexOf(target.flashblock.before.transactions + number(answer, 'transactionIndex')),
  }
}
