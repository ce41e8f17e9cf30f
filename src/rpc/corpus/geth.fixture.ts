import { accepted, type ClientCorpus, counted, HASH, intrinsic, refused, unclear } from './corpus.fixture.js'

const FULL = 'insufficient funds for gas * price + value: balance 1, queued cost 2, tx cost 5, overshot 6'

/** The messages that geth and its forks share. */
const POOL = [
  accepted('alreadyKnown', 'already known'),
  refused('feeTooLow', 'transaction underpriced'),
  refused('replacementUnderpriced', 'replacement transaction underpriced'),
  refused('poolFull', 'account limit exceeded: pooled 16 txs'),
  refused('poolFull', 'address already reserved'),
  counted('gasLimit', 'exceeds block gas limit'),
  counted('invalid', 'invalid sender'),
  intrinsic('invalid', 'negative value'),
  counted('invalid', 'oversized data: transaction size 131087, limit 131072'),
]

export const geth: ClientCorpus = {
  client: 'geth',
  code: -32000,
  said: {
    'ethereum/go-ethereum core/error.go': [
      refused('nonceTooLow', 'nonce too low'),
      refused('nonceTooHigh', 'nonce too high'),
      intrinsic('invalid', 'nonce has max value'),
      counted('gasLimit', 'gas limit reached'),
      refused('insufficientFunds', 'insufficient funds for transfer'),
      refused('insufficientFunds', 'insufficient funds for gas * price + value'),
      counted('gasLimit', 'gas uint64 overflow'),
      counted('gasLimit', 'intrinsic gas too low: have 20000, want 21000'),
      counted('invalid', 'max initcode size exceeded: code size 49153 limit 49152'),
      intrinsic('invalid', 'max priority fee per gas higher than max fee per gas'),
      intrinsic('invalid', 'max priority fee per gas higher than 2^256-1'),
      intrinsic('invalid', 'max fee per gas higher than 2^256-1'),
      refused(
        'feeTooLow',
        'max fee per gas less than block base fee: address 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C, maxFeePerGas: 1, baseFee: 7',
      ),
      refused(
        'feeTooLow',
        'max fee per blob gas less than block blob gas fee: address 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C blobGasFeeCap: 1, blobBaseFee: 3',
      ),
      counted(
        'invalid',
        'sender not an eoa: address 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C, len(code): 45',
      ),
      intrinsic('invalid', 'blob transaction of type create'),
      intrinsic('invalid', 'blob transaction missing blob hashes'),
    ],
    'ethereum/go-ethereum core/txpool/errors.go': [
      ...POOL,
      refused('poolFull', 'future transaction tries to replace pending'),
      refused('delegatedLimit', 'authority already reserved'),
      counted('invalid', 'authority nonce too low'),
    ],
    'ethereum/go-ethereum core/txpool/validation.go': [
      refused('nonceTooLow', 'nonce too low: next nonce 7, tx nonce 5', { expectedNonce: 7 }),
      refused('nonceTooHigh', 'nonce too high: tx nonce 9, gapped nonce 7', { expectedNonce: 7 }),
      refused(
        'insufficientFunds',
        'insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1',
      ),
      refused('insufficientFunds', FULL),
      refused('feeTooLow', 'transaction gas price below minimum: gas tip cap 0, minimum needed 1'),
      counted('gasLimit', 'intrinsic gas too low: gas 20000, minimum needed 21000'),
      counted('gasLimit', 'insufficient gas for floor data gas cost: gas 19435, minimum needed 24000'),
      counted('gasLimit', 'transaction gas limit too high (cap: 16777216, tx: 17000000)'),
      counted('invalid', 'transaction type not supported: tx type 3 not supported by this pool'),
      counted('invalid', 'transaction type not supported: type 4 rejected, pool not yet in Prague'),
      counted('invalid', 'transaction blob limit exceeded: blob count 9, limit 6'),
      counted('invalid', 'missing sidecar in blob transaction'),
      intrinsic('invalid', 'blobless blob transaction'),
      refused('wrongChain', 'invalid sender: invalid chain id for signer: have 1 want 8453'),
      intrinsic('invalid', 'invalid sender: invalid transaction v, r, s values'),
      intrinsic('invalid', 'set code tx must have at least one authorization tuple'),
    ],
    'ethereum/go-ethereum core/txpool/legacypool/legacypool.go': [
      refused('poolFull', 'txpool is full'),
      refused('delegatedLimit', 'in-flight transaction limit reached for delegated accounts'),
      refused('delegatedLimit', 'gapped-nonce tx from delegated accounts'),
    ],
    'ethereum/go-ethereum core/types/transaction.go': [
      intrinsic('invalid', 'invalid transaction v, r, s values'),
      counted('invalid', 'transaction type not supported'),
      counted('invalid', 'transaction type not valid in this context'),
    ],
    // From version 1.17.1, as quoted by a client that cites it.
    'ethereum/go-ethereum core/error.go (EIP-7702)': [
      intrinsic(
        'invalid',
        'EIP-7702 transaction with empty auth list (sender 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C)',
      ),
      intrinsic(
        'invalid',
        'EIP-7702 transaction cannot be used to create contract (sender 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C)',
      ),
    ],
    // Read in forks of geth.
    'ethereum/go-ethereum internal/ethapi/api.go': [
      counted('feeCapExceeded', 'tx fee (1.10 ether) exceeds the configured cap (1.00 ether)'),
      counted('invalid', 'only replay-protected (EIP-155) transactions allowed over RPC'),
      accepted(
        'syncTimeout',
        "The transaction was added to the transaction pool but wasn't processed in 2s",
        {
          code: 4,
          data: HASH,
        },
      ),
    ],
    'geth 1.17.10, asked': [
      // To eth_sendRawTransactionSync, with a timeout of 10 ms and with a timeout in hex.
      accepted(
        'syncTimeout',
        "The transaction was added to the transaction pool but wasn't processed in 10ms",
        {
          code: 4,
          data: HASH,
        },
      ),
      unclear('unknown', 'invalid argument 1: json: cannot unmarshal string into Go value of type uint64', {
        code: -32602,
      }),
      counted('invalid', 'invalid sender: recovery failed'),
      counted('invalid', 'rlp: too few elements for types.DynamicFeeTx'),
    ],
    'wevm/viem src/errors/node.ts (words of older geth)': [
      counted('invalid', 'transaction type not valid'),
      intrinsic('invalid', 'tip higher than fee cap'),
      intrinsic('invalid', 'fee cap higher than 2^256-1'),
      refused(
        'feeTooLow',
        'fee cap less than block base fee: address 0x336394A3219e71D9d9bd18201d34E95C1Bb7122C, gasFeeCap: 1 baseFee: 7',
      ),
      refused('feeTooLow', 'transaction is outdated'),
      refused('insufficientFunds', 'exceeds transaction sender account balance'),
    ],
  },
  silent: { notReady: 'a syncing geth takes transactions into its pool' },
}

export const opGeth: ClientCorpus = {
  client: 'op-geth',
  code: -32000,
  said: {
    'ethereum-optimism/op-geth core/txpool/errors.go': [
      ...POOL,
      refused('feeTooLow', 'transaction gas price below minimum: gas tip cap 0, minimum needed 1000000'),
      refused('delegatedLimit', 'in-flight transaction limit reached for delegated accounts'),
      counted('invalid', 'transaction blob limit exceeded'),
      counted(
        'gasLimit',
        'exceeds maximum per-transaction gas limit: transaction gas 37801375, limit 25000000',
      ),
    ],
    // Its own checks are geth's. The sequencer's answer is passed on unchanged (eth/api_backend.go).
    'ethereum-optimism/op-geth core/txpool/validation.go': [
      refused('nonceTooLow', 'nonce too low: next nonce 1204, tx nonce 1203', { expectedNonce: 1_204 }),
      refused('nonceTooHigh', 'nonce too high: tx nonce 9, gapped nonce 7', { expectedNonce: 7 }),
      refused('insufficientFunds', FULL),
    ],
    'ethereum/go-ethereum internal/ethapi/api.go': [
      counted('feeCapExceeded', 'tx fee (1.10 ether) exceeds the configured cap (1.00 ether)'),
    ],
  },
  silent: {
    notReady: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync of its own; forwards are refused by code',
  },
}
