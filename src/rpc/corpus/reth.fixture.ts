import { accepted, type ClientCorpus, counted, HASH, intrinsic, refused, SENDER } from './corpus.fixture.js'

const REJECTED = { code: -32003 }

/** RpcPoolError and RpcInvalidTransactionError: geth's messages on purpose. */
const RPC = [
  accepted('alreadyKnown', 'already known'),
  refused('nonceTooLow', 'nonce too low: next nonce 7, tx nonce 5', { expectedNonce: 7 }),
  refused('nonceTooHigh', 'nonce too high'),
  refused('replacementUnderpriced', 'replacement transaction underpriced'),
  refused('feeTooLow', 'transaction underpriced'),
  refused('feeTooLow', 'max fee per gas less than block base fee'),
  refused('feeTooLow', 'max fee per blob gas less than block blob gas fee', REJECTED),
  refused('feeTooLow', 'transaction priority fee below minimum required priority fee 1000000', REJECTED),
  refused('insufficientFunds', 'insufficient funds for gas * price + value: have 1 want 21000000', REJECTED),
  refused('poolFull', 'txpool is full', REJECTED),
  refused('poolFull', 'address already reserved'),
  counted('gasLimit', 'exceeds block gas limit'),
  counted('gasLimit', 'exceeds max transaction gas limit'),
  counted('gasLimit', 'intrinsic gas too high'),
  counted('gasLimit', 'gas limit too high', REJECTED),
  counted('gasLimit', 'intrinsic gas too low'),
  counted('gasLimit', 'gas uint64 overflow', REJECTED),
  counted(
    'feeCapExceeded',
    'tx fee (2100000000000000000 wei) exceeds the configured cap (1000000000000000000 wei)',
  ),
  counted('invalid', 'invalid sender'),
  refused('wrongChain', 'invalid chain ID'),
  intrinsic('invalid', 'negative value'),
  intrinsic('invalid', 'nonce has max value', REJECTED),
  counted('invalid', 'oversized data: transaction size 131087, limit 131072'),
  counted('invalid', 'max initcode size exceeded'),
  intrinsic('invalid', 'max priority fee per gas higher than max fee per gas', REJECTED),
  intrinsic('invalid', 'invalid transaction signature', { code: -32602 }),
  counted('invalid', 'failed to decode signed transaction', { code: -32602 }),
  counted('invalid', 'transaction type not supported', REJECTED),
  counted('invalid', 'sender is not an EOA', REJECTED),
  counted('invalid', 'EIP-7702 authorization list not supported', REJECTED),
  counted('invalid', 'EIP-7702 authorization list has invalid fields', REJECTED),
  accepted('syncTimeout', `Transaction ${HASH} was added to the mempool but wasn't confirmed within 6s.`, {
    code: 4,
  }),
]

/** Seen alone in bundles, in other pools' answers, and after "[hash]: ". */
const POOL = [
  accepted('alreadyKnown', `[${HASH}]: already imported`),
  refused('replacementUnderpriced', `[${HASH}]: insufficient gas price to replace existing transaction`),
  refused('feeTooLow', 'transaction feeCap 5 below chain minimum'),
  refused('poolFull', `rejected due to ${SENDER} being identified as a spammer`),
  refused('poolFull', 'transaction discarded outright due to pool size constraints'),
  refused('poolFull', `transaction type 2 conflicts with existing transaction for ${SENDER}`),
  counted('gasLimit', "transaction's gas limit 40000000 exceeds block's gas limit 30000000"),
  counted('gasLimit', "transaction's gas limit 40000000 exceeds maximum per-transaction gas limit 16777216"),
  counted('invalid', "transaction's size 50000 exceeds max_init_code_size 49152"),
  counted('invalid', "transaction's input size 50000 exceeds max_init_code_size 49152"),
  counted('invalid', 'input data too large'),
  intrinsic('invalid', 'nonce exceeds u64 limit'),
  intrinsic('invalid', 'blobless blob transaction'),
  intrinsic('invalid', 'no items in authorization list for EIP7702 transaction'),
  refused('insufficientFunds', 'transaction overdraws from account, balance: 1, cost: 2'),
  refused('delegatedLimit', 'gapped-nonce tx from delegated accounts'),
  refused('delegatedLimit', 'in-flight transaction limit reached for delegated accounts'),
  refused('delegatedLimit', 'authority already reserved'),
]

const SILENT = { notReady: 'a syncing reth takes transactions into its pool' }

export const reth: ClientCorpus = {
  client: 'reth',
  code: -32000,
  said: {
    'paradigmxyz/reth crates/rpc/rpc-eth-types/src/error/mod.rs': RPC,
    'paradigmxyz/reth crates/transaction-pool/src/error.rs': POOL,
  },
  silent: SILENT,
}

export const opReth: ClientCorpus = {
  client: 'op-reth',
  code: -32000,
  said: {
    // Wraps reth's errors, and passes on the sequencer's code and message unchanged.
    'paradigmxyz/reth crates/optimism/rpc/src/error.rs': RPC,
    'paradigmxyz/reth crates/optimism/txpool/src/error.rs': POOL,
  },
  silent: SILENT,
}

export const base: ClientCorpus = {
  client: 'Base',
  code: -32000,
  said: {
    'base/base crates/execution/rpc/src/eth_services/error/mod.rs, with the words of reth': RPC,
    'base/base crates/execution/txpool/src/error.rs': POOL,
    // As quoted by its troubleshooting documentation; the sequencer ran op-geth.
    'ethereum-optimism/op-geth core/txpool/errors.go': [
      counted(
        'gasLimit',
        'exceeds maximum per-transaction gas limit: transaction gas 131250000, limit 25000000',
      ),
    ],
  },
  silent: SILENT,
}
