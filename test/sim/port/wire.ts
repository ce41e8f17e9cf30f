import { type Adjusted, type Executed, parentHashOf, type SimBlock, type Wire } from '../chain/block.js'
import type { ChainSettings } from '../chain/options.js'
import { ZERO_WORD } from '../chain/state.js'

/** JSON-RPC's form of a number. */
export function quantity(value: number | bigint): string {
  return `0x${value.toString(16)}`
}

const ADDRESS_ZERO = `0x${'0'.repeat(40)}`
const BLOOM = `0x${'0'.repeat(512)}`
const OMMERS = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
// The account and the contract of the OP stack's L1 attributes deposit (specs.optimism.io).
const DEPOSITOR = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001'
const L1_BLOCK = '0x4200000000000000000000000000000000000015'
const DEPOSIT_GAS = 46_000
const NOTHING: readonly never[] = Object.freeze([])

/** A block as `eth_getBlockByNumber` returns it. The result is shared and must not be changed. */
export function wireBlock(block: SimBlock, full: boolean, settings: ChainSettings): Wire {
  const { words, executed } = block
  const deposits = depositsOf(block, settings)
  if (full && deposits.length + executed.length + block.adjustments.length > 0) {
    words.whole ??= wholeBlock(block, settings, [
      ...deposits,
      ...withCarriers(
        block,
        executed.map((done, index) => wireTransaction(done, block, index, settings)),
        (carrier) => carrier,
      ),
    ])
    return words.whole
  }
  words.header ??= wholeBlock(block, settings, [
    ...deposits.map(({ hash }) => hash),
    ...withCarriers(
      block,
      executed.map(({ tx }) => tx.hash),
      ({ hash }) => hash,
    ),
  ])
  return words.header
}

/** The transactions of the chain itself, as op-geth and Base show them (type 0x7e, without a signature). */
function depositsOf(block: SimBlock, settings: ChainSettings): readonly Deposit[] {
  return Array.from({ length: settings.deposits }, (_, index) => ({
    hash: `${block.hash.slice(0, 50)}de90${quantity(index).slice(2).padStart(12, '0')}`,
    type: '0x7e',
    sourceHash: ZERO_WORD,
    from: DEPOSITOR,
    nonce: quantity(block.number),
    to: L1_BLOCK,
    mint: '0x0',
    value: '0x0',
    gas: '0xf4240',
    gasPrice: '0x0',
    input: '0x',
    blockHash: wireHash(block, settings),
    blockNumber: quantity(block.number),
    transactionIndex: quantity(index),
    v: '0x0',
    r: '0x0',
    s: '0x0',
    ...stampOf(block, settings),
  }))
}

type Deposit = Wire & { readonly hash: string }

/** In Base's headers, transactions and receipts since its blocks of 200 ms. */
function stampOf({ timestampMs }: SimBlock, { stampsMs }: ChainSettings): Wire {
  return stampsMs ? { timestampMs: quantity(timestampMs) } : {}
}

type Carrier = ReturnType<typeof carrierOf>

/**
 * A nonce that moved without a transaction of the account is explained in the body too: by the transaction
 * that carries the tuple.
 */
function withCarriers<T>(
  block: SimBlock,
  transactions: readonly T[],
  show: (carrier: Carrier) => T,
): readonly T[] {
  const all: T[] = []
  for (let index = 0; index <= transactions.length; index++) {
    for (const [order, adjusted] of block.adjustments.entries())
      if (adjusted.after === index && adjusted.nonces && !adjusted.isTraceless)
        all.push(show(carrierOf(block, adjusted, order)))
    const transaction = transactions[index]
    if (transaction !== undefined) all.push(transaction)
  }
  return all
}

/** A foreign transaction with tuples that the account has signed, as the stub account does. */
function carrierOf(block: SimBlock, { address, nonces = 0, from }: Adjusted, order: number) {
  const r = `0x${address.slice(2).padStart(64, '0')}`
  return {
    hash: `${block.hash.slice(0, 50)}ca77${quantity(order).slice(2).padStart(12, '0')}`,
    type: '0x4',
    from: `0x${'ca'.repeat(20)}`,
    nonce: '0x0',
    to: address,
    authorizationList: Array.from({ length: nonces }, (_, index) => ({
      chainId: '0x0',
      address: ADDRESS_ZERO,
      nonce: quantity(from + index),
      r,
    })),
    r: '0x1',
  }
}

function wholeBlock(block: SimBlock, settings: ChainSettings, transactions: readonly unknown[]): Wire {
  return {
    number: quantity(block.number),
    hash: wireHash(block, settings),
    parentHash: parentHashOf(block),
    nonce: '0x0000000000000000',
    sha3Uncles: OMMERS,
    logsBloom: BLOOM,
    transactionsRoot: ZERO_WORD,
    stateRoot: ZERO_WORD,
    receiptsRoot: ZERO_WORD,
    miner: ADDRESS_ZERO,
    difficulty: '0x0',
    mixHash: ZERO_WORD,
    extraData: '0x',
    size: block.sealed ? '0x3e8' : undefined,
    gasLimit: quantity(settings.gasLimit),
    gasUsed: quantity(block.gasUsed + settings.deposits * DEPOSIT_GAS),
    timestamp: quantity(Math.floor(block.timestampMs / 1_000)),
    ...stampOf(block, settings),
    baseFeePerGas: quantity(block.baseFeeWei),
    transactions,
    uncles: NOTHING,
    withdrawals: NOTHING,
    withdrawalsRoot: ZERO_WORD,
    blobGasUsed: '0x0',
    excessBlobGas: '0x0',
    parentBeaconBlockRoot: ZERO_WORD,
  }
}

/** The hash of a block in progress, 32 zero bytes or null, depending on the node. */
function wireHash(block: SimBlock, { pendingHash }: ChainSettings): string | null {
  if (block.sealed || pendingHash === 'partial') return block.hash
  return pendingHash === 'zero' ? ZERO_WORD : null
}

const TYPE_BYTES = { legacy: '0x0', eip2930: '0x1', eip1559: '0x2', eip7702: '0x4' } as const

export function wireTransaction(
  done: Executed,
  block: SimBlock,
  index: number,
  settings: ChainSettings,
): Wire {
  const { tx } = done
  return {
    hash: tx.hash,
    type: TYPE_BYTES[tx.type],
    chainId: quantity(tx.chainId),
    nonce: quantity(tx.nonce),
    from: tx.from,
    to: tx.to,
    value: quantity(tx.valueWei),
    gas: quantity(tx.gas),
    gasPrice: quantity(done.priceWei),
    ...(tx.type === 'legacy' || tx.type === 'eip2930'
      ? {}
      : { maxFeePerGas: quantity(tx.maxFeeWei), maxPriorityFeePerGas: quantity(tx.tipWei) }),
    input: tx.data,
    ...(tx.authorizations > 0 ? { authorizationList: tuplesOf(tx) } : {}),
    blockHash: wireHash(block, settings),
    blockNumber: quantity(block.number),
    transactionIndex: quantity(settings.deposits + index),
    ...stampOf(block, settings),
    accessList: [],
    v: '0x0',
    // The stub account's signature is its address.
    r: `0x${tx.from.slice(2).padStart(64, '0')}`,
    s: '0x1',
    yParity: '0x0',
  }
}

/** Its own valid tuples: invalid ones use no nonce. */
function tuplesOf({ from, nonce, authorizations }: Executed['tx']) {
  return Array.from({ length: authorizations }, (_, index) => ({
    chainId: '0x0',
    address: ADDRESS_ZERO,
    nonce: quantity(nonce + 1 + index),
    r: `0x${from.slice(2).padStart(64, '0')}`,
  }))
}

/** All receipts of a block, as `eth_getBlockReceipts` returns them. */
export function wireReceipts(block: SimBlock, settings: ChainSettings): readonly Wire[] {
  let cumulative = settings.deposits * DEPOSIT_GAS
  block.words.receipts ??= [
    ...depositsOf(block, settings).map((deposit, index) => depositReceipt(deposit, block, index, settings)),
    ...block.executed.map((done, index) => {
      cumulative += done.gasUsed
      return wireReceipt(done, block, settings.deposits + index, cumulative, settings)
    }),
  ]
  return block.words.receipts
}

function depositReceipt(deposit: Deposit, block: SimBlock, index: number, settings: ChainSettings): Wire {
  return {
    transactionHash: deposit.hash,
    transactionIndex: quantity(index),
    blockHash: wireHash(block, settings) ?? ZERO_WORD,
    blockNumber: quantity(block.number),
    from: deposit.from,
    to: deposit.to,
    contractAddress: null,
    cumulativeGasUsed: quantity((index + 1) * DEPOSIT_GAS),
    gasUsed: quantity(DEPOSIT_GAS),
    effectiveGasPrice: '0x0',
    logs: [],
    logsBloom: BLOOM,
    status: '0x1',
    type: '0x7e',
    depositNonce: deposit.nonce,
    depositReceiptVersion: '0x1',
    ...stampOf(block, settings),
  }
}

function wireReceipt(
  { tx, status, gasUsed, priceWei, contractAddress }: Executed,
  block: SimBlock,
  index: number,
  cumulative: number,
  settings: ChainSettings,
): Wire {
  return {
    transactionHash: tx.hash,
    transactionIndex: quantity(index),
    // Pre-confirmed receipts have been observed with zeros here.
    blockHash: wireHash(block, settings) ?? ZERO_WORD,
    blockNumber: quantity(block.number),
    from: tx.from,
    to: tx.to,
    contractAddress,
    cumulativeGasUsed: quantity(cumulative),
    gasUsed: quantity(gasUsed),
    effectiveGasPrice: quantity(priceWei),
    logs: [],
    logsBloom: BLOOM,
    status: status === 'success' ? '0x1' : '0x0',
    ...stampOf(block, settings),
    type: TYPE_BYTES[tx.type],
  }
}
