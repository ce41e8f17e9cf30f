import { accepted, type ClientCorpus, counted, intrinsic, refused } from './corpus.fixture.js'

export const erigon: ClientCorpus = {
  client: 'Erigon',
  code: -32000,
  said: {
    // Preceded by the name of the pool's result if it is imported over gRPC: "ALREADY_EXISTS: already known".
    'erigontech/erigon txnprovider/txpool/txpoolcfg/txpoolcfg.go': [
      accepted('alreadyKnown', 'ALREADY_EXISTS: already known'),
      accepted('alreadyKnown', 'INTERNAL_ERROR: existing txn with same hash'),
      refused('nonceTooLow', 'INTERNAL_ERROR: nonce too low'),
      refused('replacementUnderpriced', 'INTERNAL_ERROR: could not replace existing tx'),
      refused('replacementUnderpriced', 'INTERNAL_ERROR: replacement transaction underpriced'),
      refused('feeTooLow', 'FEE_TOO_LOW: underpriced'),
      refused('feeTooLow', 'FEE_TOO_LOW: fee too low'),
      refused('insufficientFunds', 'INTERNAL_ERROR: insufficient funds'),
      refused('poolFull', 'INTERNAL_ERROR: pending sub-pool is full'),
      refused('poolFull', 'INTERNAL_ERROR: baseFee sub-pool is full'),
      refused('poolFull', 'INTERNAL_ERROR: queued sub-pool is full'),
      refused('poolFull', 'INTERNAL_ERROR: blobs limit in txpool is full'),
      refused('poolFull', "INTERNAL_ERROR: can't replace blob-txn with a non-blob-txn"),
      refused('poolFull', 'INTERNAL_ERROR: spammer'),
      counted('gasLimit', 'INTERNAL_ERROR: IntrinsicGas'),
      counted('gasLimit', 'INTERNAL_ERROR: GasUintOverflow'),
      counted('gasLimit', 'INTERNAL_ERROR: gas limit is too high'),
      counted('invalid', 'INVALID: invalid sender'),
      intrinsic('invalid', 'INVALID: negative value'),
      counted('invalid', 'INVALID: oversized data'),
      counted('invalid', 'INTERNAL_ERROR: RLPTooLong'),
      counted('invalid', 'INTERNAL_ERROR: initcode too large'),
      intrinsic('invalid', 'INTERNAL_ERROR: blob transactions must have at least one blob'),
      intrinsic(
        'invalid',
        'INTERNAL_ERROR: EIP-7702 transactions with an empty authorization list are invalid',
      ),
      intrinsic(
        'invalid',
        'INTERNAL_ERROR: EIP-4844 & 7702 transactions cannot have the form of a create transaction',
      ),
      counted('invalid', 'INTERNAL_ERROR: max number of blobs exceeded'),
      counted('invalid', 'INTERNAL_ERROR: fork supporting this transaction type is not activated yet'),
      refused('delegatedLimit', 'INTERNAL_ERROR: EIP-7702 transaction with authority already reserved'),
    ],
    'ethereum/go-ethereum internal/ethapi/api.go': [
      counted('feeCapExceeded', 'tx fee (1.10 ether) exceeds the configured cap (1.00 ether)'),
    ],
  },
  silent: {
    nonceTooHigh: 'queues transactions with a gap before them',
    notReady: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}
