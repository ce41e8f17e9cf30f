import type { Hex } from 'viem'
import type { Flashblock, SealedBlock } from '../chain/chainView.js'
import { hashesOf, pendingHeader } from '../chain/headers.js'
import { hexOf, isObject, ok, type RpcObject, type RpcReply } from '../rpc/rpcTypes.js'
import { one, type ReadContext, type ReadHandler, type ReadPlan, selected } from './readContext.js'
import { depositIn, depositReceipt, depositTransaction } from './readDeposits.js'
import { renumberReceipt, renumberTransaction } from './renumber.js'
import type { Selected } from './selectors.js'

/** `eth_getBlockByNumber` and `eth_getBlockByHash`, with any block selector. */
export const getBlock: ReadHandler = (context, [selector, full]) => {
  const at = selected(context, selector)
  if (at.kind === 'forked') return one('eth_getBlockByNumber', [hexOf(at.number), full === true], ok)
  const found = contents(context, at)
  if (found === undefined) return ok(null)
  const { header, flashblocks } = found
  if (full !== true) return ok({ ...header, transactions: hashesOf(flashblocks) })
  return fullTransactions(context, flashblocks, (transactions) => ({ ...header, transactions }))
}

export const getBlockReceipts: ReadHandler = (context, [selector]) => {
  const at = selected(context, selector)
  if (at.kind === 'forked') return one('eth_getBlockReceipts', [hexOf(at.number)], ok)
  const found = contents(context, at)
  if (found === undefined) return ok(null)
  return perFlashblock(found.flashblocks, 'eth_getBlockReceipts', [], (results) =>
    ok([
      ...depositsIn(context, found.flashblocks).map(depositReceipt),
      ...(results.flat() as unknown[]).map((receipt) => renumberReceipt(context, receipt)),
    ]),
  )
}

export const getBlockTransactionCount: ReadHandler = (context, [selector]) => {
  const at = selected(context, selector)
  if (at.kind === 'forked') return one('eth_getBlockTransactionCountByNumber', [hexOf(at.number)], ok)
  const found = contents(context, at)
  return ok(found === undefined ? null : hexOf(hashesOf(found.flashblocks).length))
}

export const getTransactionByIndex: ReadHandler = (context, [selector, index]) => {
  const found = contents(context, selected(context, selector))
  const hash = found && hashesOf(found.flashblocks)[Number(index)]
  if (hash === undefined) return ok(null)
  const deposit = depositIn(context, hash)
  if (deposit !== undefined) return ok(depositTransaction(context, deposit))
  return one('eth_getTransactionByHash', [hash], (result) => ok(renumberTransaction(context, result)))
}

type Contents = { readonly header: RpcObject; readonly flashblocks: readonly Flashblock[] }

function contents(context: ReadContext, at: Selected): Contents | undefined {
  if (at.kind === 'sealed') {
    return { header: sealedHeaderOf(context, at.block), flashblocks: at.block.flashblocks }
  }
  if (at.kind !== 'pending') return undefined
  const { view } = context
  const header = { ...pendingHeader(view), ...timestampMsField(context, view.opening) }
  // geth's local pending block has neither hash, nonce nor fee recipient.
  const shown = context.rules === 'geth' ? { ...header, hash: null, nonce: null, miner: null } : header
  return { header: shown, flashblocks: view.open }
}

function sealedHeaderOf(
  context: Pick<ReadContext, 'hasTimestampMs'>,
  block: Pick<SealedBlock, 'header' | 'timestampMs'>,
): RpcObject {
  return { ...block.header, ...timestampMsField(context, block) }
}

// Fields of a block that geth's and reth's `newHeads` leave out. anvil's has them.
const NOT_IN_HEADS = ['size', 'totalDifficulty', 'uncles', 'withdrawals'] as const

/** A sealed block in the format of the subscription `newHeads`. */
export function newHeadOf(
  context: Pick<ReadContext, 'hasTimestampMs' | 'rules'>,
  block: SealedBlock,
): RpcObject {
  const header = sealedHeaderOf(context, block)
  if (context.rules === 'anvil') return { ...header, transactions: hashesOf(block.flashblocks) }
  for (const name of NOT_IN_HEADS) delete header[name]
  return header
}

function timestampMsField(
  { hasTimestampMs }: Pick<ReadContext, 'hasTimestampMs'>,
  { timestampMs }: { readonly timestampMs: number },
): RpcObject {
  return hasTimestampMs ? { timestampMs: hexOf(timestampMs) } : {}
}

function depositsIn(context: ReadContext, flashblocks: readonly Flashblock[]) {
  return flashblocks.flatMap(({ deposits }) => deposits).flatMap(({ hash }) => depositIn(context, hash) ?? [])
}

function fullTransactions(
  context: ReadContext,
  flashblocks: readonly Flashblock[],
  build: (transactions: unknown[]) => RpcObject,
): RpcReply | ReadPlan {
  return perFlashblock(flashblocks, 'eth_getBlockByNumber', [true], (results) => {
    const transactions = results.flatMap((block) =>
      isObject(block) ? (block.transactions as unknown[]) : [],
    )
    return ok(
      build([
        ...depositsIn(context, flashblocks).map((deposit) => depositTransaction(context, deposit)),
        ...transactions.map((transaction) => renumberTransaction(context, transaction)),
      ]),
    )
  })
}

/** Sends the call to anvil once for each flashblock that has transactions. */
function perFlashblock(
  flashblocks: readonly Flashblock[],
  method: string,
  more: readonly unknown[],
  finish: (results: readonly unknown[]) => RpcReply,
): RpcReply | ReadPlan {
  const filled = flashblocks.filter(({ hashes }: { hashes: readonly Hex[] }) => hashes.length > 0)
  if (filled.length === 0) return finish([])
  return {
    calls: filled.map(({ anvilNumber }) => ({ method, params: [hexOf(anvilNumber), ...more] })),
    finish,
  }
}
