import type { Hex } from 'viem'
import { baseOf, type ChainView, headOf, sealedAt } from '../chain/chainView.js'
import {
  bigint,
  fail,
  hexOf,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  ok,
  type RpcObject,
  SERVER_ERROR,
} from '../rpc/rpcTypes.js'
import { getBlock, getBlockReceipts, getBlockTransactionCount, getTransactionByIndex } from './readBlocks.js'
import { one, type ReadHandler, selected, stateBlock } from './readContext.js'
import { depositIn, depositReceipt, depositTransaction } from './readDeposits.js'
import { renumberLog, renumberReceipt, renumberTransaction } from './renumber.js'
import { anvilNumberOf } from './selectors.js'

/** A state read: the same call, with the block parameter at `index` translated to anvil's block number. */
function stateRead(method: string, index: number): ReadHandler {
  return (context, params) => {
    const translated = [...params]
    while (translated.length < index) translated.push(null)
    translated[index] = stateBlock(context, params[index])
    return one(method, translated, ok)
  }
}

const countRead = stateRead('eth_getTransactionCount', 1)

/**
 * With Flashblocks `pending` does not count the mempool: it is the state after the newest flashblock. geth,
 * reth and anvil also count the executable transactions of the pool.
 */
const getTransactionCount: ReadHandler = (context, params) => {
  const plan = countRead(context, params)
  if (params[1] !== 'pending' || !context.countsPool || !('calls' in plan)) return plan
  if (context.rules === 'anvil') return one('eth_getTransactionCount', params, ok)
  const end = context.pool.runEnd(params[0] as Hex)
  return { ...plan, finish: ([count]) => ok(hexOf(Math.max(Number(count), end ?? 0))) }
}

const getTransactionByHash: ReadHandler = (context, [hash]) => {
  const waiting = typeof hash === 'string' ? context.pool.waiting(hash.toLowerCase() as Hex) : undefined
  if (waiting !== undefined) return ok(waiting)
  const deposit = depositIn(context, hash)
  if (deposit !== undefined) return ok(depositTransaction(context, deposit))
  return one('eth_getTransactionByHash', [hash], (result) => ok(renumberTransaction(context, result)))
}

const getRawTransactionByHash: ReadHandler = (context, [hash]) => {
  const found = depositIn(context, hash)
  return found === undefined ? one('eth_getRawTransactionByHash', [hash], ok) : ok(found.deposit.raw)
}

const contentFrom: ReadHandler = (context, [from]) => {
  const content = typeof from === 'string' ? context.pool.contentFrom(from as Hex) : undefined
  return content === undefined
    ? fail(METHOD_NOT_FOUND, 'the method txpool_contentFrom is not available')
    : ok(content)
}

const getTransactionReceipt: ReadHandler = (context, [hash]) => {
  const deposit = depositIn(context, hash)
  if (deposit !== undefined) return ok(depositReceipt(deposit))
  return one('eth_getTransactionReceipt', [hash], (result) => ok(renumberReceipt(context, result)))
}

const getLogs: ReadHandler = (context, [filter]) => {
  const given = isObject(filter) ? filter : {}
  const from = selected(context, given.blockHash ?? given.fromBlock ?? 'latest')
  const to = selected(context, given.blockHash ?? given.toBlock ?? 'latest')
  if (given.blockHash !== undefined && from.kind === 'absent') return fail(SERVER_ERROR, 'unknown block')
  if (from.kind === 'absent') return ok([])
  const last = anvilNumberOf(context.view, to) ?? headOf(context.view).lastAnvil
  const first = from.kind === 'pending' ? headOf(context.view).lastAnvil + 1 : firstAnvil(context.view, from)
  if (first > last) return ok([])
  const { blockHash: _, ...rest } = given
  const translated = { ...rest, fromBlock: hexOf(first), toBlock: hexOf(last) }
  return one('eth_getLogs', [translated], (logs) =>
    ok((logs as RpcObject[]).flatMap((log) => renumberLog(context, log) ?? [])),
  )
}

function firstAnvil(view: ChainView, at: ReturnType<typeof selected>): number {
  if (at.kind === 'forked') return at.number
  if (at.kind !== 'sealed') return baseOf(view).number
  return at.block.flashblocks[0]?.anvilNumber ?? at.block.lastAnvil
}

/** Methods without a block parameter: anvil's result is returned unchanged. */
const asIs =
  (method: string): ReadHandler =>
  (_, params) =>
    one(method, params, ok)

const gasPrice: ReadHandler = ({ view, tipWei }) => ok(hexOf(view.opening.baseFeePerGas + tipWei))

const maxPriorityFeePerGas: ReadHandler = ({ tipWei }) => ok(hexOf(tipWei))

const BLOCKS_MAX = 1024

/**
 * Covers sealed blocks only, at most as many as exist. The reward is the suggested tip for a block with
 * transactions, and 0 for one with none or only deposits, regardless of the tips that were paid.
 */
const feeHistory: ReadHandler = (context, [count, newest, percentiles]) => {
  const at = selected(context, newest)
  const last = at.kind === 'sealed' ? at.block : at.kind === 'pending' ? headOf(context.view) : undefined
  const wanted = Math.min(Number(count), BLOCKS_MAX)
  if (last === undefined || !(wanted >= 1)) return fail(INVALID_PARAMS, 'invalid fee history range')
  const tip = hexOf(context.tipWei)
  const blocks = []
  for (let number = last.number; number > last.number - wanted; number -= 1) {
    const block = sealedAt(context.view, number)
    if (block === undefined) break
    blocks.unshift(block)
  }
  const headers = blocks.map(({ header }) => header)
  const next = sealedAt(context.view, last.number + 1)?.header.baseFeePerGas
  const ratios = headers.map(
    (header) => Number((bigint(header, 'gasUsed') * 10_000n) / bigint(header, 'gasLimit')) / 10_000,
  )
  const rewards = blocks.map(({ flashblocks }) =>
    flashblocks.some(({ hashes }) => hashes.length > 0) ? tip : '0x0',
  )
  return ok({
    oldestBlock: headers[0]?.number,
    baseFeePerGas: [
      ...headers.map(({ baseFeePerGas }) => baseFeePerGas),
      next ?? hexOf(context.view.opening.baseFeePerGas),
    ],
    gasUsedRatio: ratios,
    ...(Array.isArray(percentiles) && percentiles.length > 0
      ? { reward: rewards.map((reward) => percentiles.map(() => reward)) }
      : {}),
  })
}

/**
 * Every read that the devnet answers. Other methods are rejected, because anvil's block numbers would be
 * wrong.
 */
export const READS: Readonly<Record<string, ReadHandler>> = {
  eth_chainId: ({ chainId }) => ok(hexOf(chainId)),
  net_version: ({ chainId }) => ok(String(chainId)),
  net_listening: () => ok(true),
  eth_syncing: () => ok(false),
  eth_accounts: () => ok([]),
  web3_clientVersion: ({ rules }) => ok(`txlane-devnet/${rules}`),
  eth_blockNumber: ({ view }) => ok(hexOf(headOf(view).number)),
  eth_gasPrice: gasPrice,
  eth_maxPriorityFeePerGas: maxPriorityFeePerGas,
  eth_feeHistory: feeHistory,
  eth_getBlockByNumber: getBlock,
  eth_getBlockByHash: getBlock,
  eth_getBlockReceipts: getBlockReceipts,
  eth_getBlockTransactionCountByNumber: getBlockTransactionCount,
  eth_getBlockTransactionCountByHash: getBlockTransactionCount,
  eth_getTransactionByBlockNumberAndIndex: getTransactionByIndex,
  eth_getTransactionByBlockHashAndIndex: getTransactionByIndex,
  eth_getTransactionByHash: getTransactionByHash,
  eth_getTransactionReceipt: getTransactionReceipt,
  eth_getTransactionCount: getTransactionCount,
  eth_getLogs: getLogs,
  eth_getBalance: stateRead('eth_getBalance', 1),
  eth_getCode: stateRead('eth_getCode', 1),
  eth_getStorageAt: stateRead('eth_getStorageAt', 2),
  eth_getProof: stateRead('eth_getProof', 2),
  eth_call: stateRead('eth_call', 1),
  eth_estimateGas: stateRead('eth_estimateGas', 1),
  eth_createAccessList: stateRead('eth_createAccessList', 1),
  eth_simulateV1: stateRead('eth_simulateV1', 1),
  txpool_contentFrom: contentFrom,
  eth_getRawTransactionByHash: getRawTransactionByHash,
  web3_sha3: asIs('web3_sha3'),
  debug_traceTransaction: asIs('debug_traceTransaction'),
}
