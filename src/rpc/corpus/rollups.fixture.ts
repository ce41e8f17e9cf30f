import { accepted, type ClientCorpus, counted, HASH, intrinsic, refused, SENDER } from './corpus.fixture.js'

export const nitro: ClientCorpus = {
  client: 'Nitro',
  code: -32000,
  said: {
    'OffchainLabs/nitro execution/gethexec/tx_pre_checker.go': [
      refused('nonceTooLow', `nonce too low: address ${SENDER}, tx: 5 state: 7`, { expectedNonce: 7 }),
      refused('nonceTooHigh', `nonce too high: address ${SENDER}, tx: 9 state: 7`, { expectedNonce: 7 }),
      refused(
        'feeTooLow',
        `max fee per gas less than block base fee: address ${SENDER}, maxFeePerGas: 1 baseFee: 10000000`,
      ),
      refused(
        'insufficientFunds',
        `insufficient funds for gas * price + value: address ${SENDER} have 1 want 2`,
      ),
      counted('gasLimit', 'intrinsic gas too low'),
      counted('invalid', 'transaction type not supported'),
      refused('wrongChain', 'invalid chain id for signer: have 1 want 42161'),
    ],
    'OffchainLabs/nitro execution/gethexec/sequencer.go': [
      refused('notReady', 'sequencer temporarily not available'),
      refused(
        'notReady',
        'currently not accepting transactions due to expected surplus being below threshold',
      ),
      counted('screened', 'transaction sender is not on the whitelist'),
      counted('invalid', 'oversized data'),
    ],
  },
  silent: {
    alreadyKnown: 'keeps no pool: the same bytes again are "nonce too low"',
    replacementUnderpriced: 'keeps no pool: first come, first served',
    poolFull: 'waits for room in the queue, and its "context deadline exceeded" is no refusal',
    delegatedLimit: 'keeps no pool',
    feeCapExceeded: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}

export const arbitrumClassic: ClientCorpus = {
  client: 'Nitro (legacy: Arbitrum Classic)',
  code: -32000,
  said: {
    'smartcontractkit/chainlink core/chains/evm/client/errors_test.go': [
      refused('nonceTooLow', 'transaction rejected: nonce too low'),
      refused('nonceTooLow', 'invalid transaction nonce'),
      refused('feeTooLow', 'gas price too low'),
      refused('insufficientFunds', 'not enough funds for gas'),
      refused('insufficientFunds', 'transaction rejected: insufficient funds for gas * price + value'),
      refused('poolFull', 'queue full'),
      refused('poolFull', 'sequencer pending tx pool full, please try again'),
      refused('poolFull', 'tx dropped due to L2 congestion'),
      counted('invalid', 'invalid message format'),
      counted('screened', 'forbidden sender address'),
    ],
  },
  silent: {
    alreadyKnown: 'kept no pool',
    nonceTooHigh: 'said "invalid transaction nonce", as for low ones',
    replacementUnderpriced: 'kept no pool',
    gasLimit: 'not found',
    delegatedLimit: 'older than EIP-7702',
    feeCapExceeded: 'not found',
    notReady: 'not found',
    syncTimeout: 'had no eth_sendRawTransactionSync',
  },
}

export const zksync: ClientCorpus = {
  client: 'zkSync Era',
  code: 3,
  said: {
    'matter-labs/zksync-era core/lib/types/src/l2/error.rs': [
      accepted('alreadyKnown', `known transaction. transaction with hash ${HASH} is already in the system`, {
        data: '0x',
      }),
      counted('invalid', 'transaction type 3 not supported', { data: '0x' }),
    ],
    'matter-labs/zksync-era core/node/api_server/src/tx_sender/result.rs': [
      refused('nonceTooLow', 'nonce too low. allowed nonce range: 427 - 447, actual: 426', {
        data: '0x',
        expectedNonce: 427,
      }),
      refused('nonceTooHigh', 'nonce too high. allowed nonce range: 427 - 447, actual: 999', {
        data: '0x',
        expectedNonce: 427,
      }),
      // A fixed distance above the account's nonce.
      refused('nonceTooHigh', 'nonce too high. allowed nonce range: 0 - 20, actual: 21', {
        data: '0x',
        expectedNonce: 0,
      }),
      refused('notReady', 'insertion of another transaction with the same nonce is in progress', {
        data: '0x',
      }),
      refused('notReady', 'server shutting down', { data: '0x' }),
      refused('insufficientFunds', 'insufficient funds for gas + value. balance: 1, fee: 2, value: 3', {
        data: '0x',
      }),
      refused(
        'insufficientFunds',
        'not enough balance to cover the fee. error message: Account does not have enough balance to cover the fee',
        { data: '0x' },
      ),
      refused('feeTooLow', 'max fee per gas less than block base fee', { data: '0x' }),
      counted('gasLimit', 'exceeds block gas limit', { data: '0x' }),
      counted('gasLimit', 'not enough gas to publish compressed bytecodes', { data: '0x' }),
      counted('gasLimit', 'intrinsic gas too low', { data: '0x' }),
      intrinsic('invalid', 'max priority fee per gas higher than max fee per gas', { data: '0x' }),
      counted('invalid', "invalid sender. can't start a transaction from a non-account", { data: '0x' }),
      counted(
        'invalid',
        'too many factory dependencies in the transaction. 40 provided, while only 32 allowed',
        { data: '0x' },
      ),
      counted('screened', `contract deployer address ${SENDER} is not in the allow list`, { data: '0x' }),
    ],
    'smartcontractkit/chainlink-evm pkg/client/errors.go': [
      counted('invalid', 'max fee per gas higher than 2^64-1', { data: '0x' }),
      counted('invalid', 'max priority fee per gas higher than 2^64-1', { data: '0x' }),
      counted('invalid', 'max fee per pubdata byte higher than 2^64-1', { data: '0x' }),
      counted('invalid', 'oversized data. max: 128000; actual: 130000', { data: '0x' }),
      counted(
        'gasLimit',
        'failed to validate the transaction. reason: Not enough gas for transaction validation',
        { data: '0x' },
      ),
      refused(
        'feeTooLow',
        'virtual machine entered unexpected state. please contact developers and provide transaction details that caused this error. Error description: The operator included transaction with an unacceptable gas price',
        { data: '0x' },
      ),
      refused(
        'feeTooLow',
        'virtual machine entered unexpected state. Please contact developers and provide transaction details that caused this error. Error description: Assertion error: Fair pubdata price too high',
        { data: '0x' },
      ),
    ],
  },
  silent: {
    replacementUnderpriced: 'replaces without a rule on the price, or says that an insertion is in progress',
    poolFull: 'not found',
    delegatedLimit: 'accounts are contracts',
    feeCapExceeded: 'not found',
    syncTimeout: 'not found',
  },
}

export const zkevm: ClientCorpus = {
  client: 'Polygon zkEVM',
  code: -32000,
  said: {
    '0xPolygonHermez/zkevm-node pool/errors.go': [
      refused('nonceTooLow', 'nonce too low'),
      refused('nonceTooHigh', 'nonce too high'),
      refused('feeTooLow', 'gas price too low'),
      refused('insufficientFunds', 'insufficient funds for gas * price + value'),
      refused('poolFull', 'txpool is full'),
      refused('poolFull', 'account has reached the tx limit in the txpool'),
      counted('gasLimit', 'exceeds block gas limit'),
      counted('gasLimit', 'intrinsic gas too low'),
      counted('gasLimit', 'gas uint64 overflow'),
      refused('wrongChain', 'invalid chain id'),
      counted('invalid', 'invalid sender'),
      counted('invalid', 'oversized data'),
      intrinsic('invalid', 'negative value'),
      counted('screened', 'blocked sender'),
    ],
    '0xPolygonHermez/zkevm-node pool/pool.go': [
      counted(
        'invalid',
        'data size bigger than allowed, current size is 30001 bytes and max allowed is 30000 bytes',
      ),
      accepted('alreadyKnown', 'already known'),
      refused('replacementUnderpriced', 'replacement transaction underpriced'),
    ],
    'smartcontractkit/chainlink core/chains/evm/client/errors_test.go': [
      counted('gasLimit', 'not enough keccak counters to continue the execution'),
      counted('gasLimit', 'failed to add tx to the pool: out of counters at node level (Steps)'),
    ],
  },
  silent: {
    delegatedLimit: 'older than EIP-7702',
    feeCapExceeded: 'not found',
    notReady: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}

export const metis: ClientCorpus = {
  client: 'Metis',
  code: -32000,
  said: {
    'MetisProtocol/mvm l2geth/rollup/fees/rollup_fee.go': [
      refused('insufficientFunds', 'invalid transaction: insufficient funds for l1Fee + l2Fee + value'),
      counted('gasLimit', 'L2 gas limit too low'),
    ],
    'MetisProtocol/mvm l2geth/rollup/sync_service.go': [
      refused('feeTooLow', 'gas price too low: 18000000000 wei, use at least tx.gasPrice = 19500000000 wei'),
      counted(
        'feeCapExceeded',
        'gas price too high: 60000000000 wei, use at most tx.gasPrice = 19500000000 wei',
      ),
      refused('feeTooLow', 'cannot accept 0 gas price transaction'),
      refused('notReady', 'Verifier does not accept transactions out of band'),
    ],
    'smartcontractkit/chainlink core/chains/evm/client/errors_test.go': [
      refused('nonceTooLow', 'invalid transaction: nonce too low'),
      refused('insufficientFunds', 'invalid transaction: insufficient funds for gas * price + value'),
      refused(
        'feeTooLow',
        'fee too low: 30365610000000, use at least tx.gasLimit = 5874374 and tx.gasPrice = 15000000',
      ),
      counted('feeCapExceeded', 'fee too high: 5835750750000000, use less than 467550750000000 * 0.700000'),
    ],
    'ethereum/go-ethereum core/error.go': [
      refused('nonceTooHigh', 'invalid transaction: nonce too high'),
      counted('gasLimit', 'invalid transaction: intrinsic gas too low'),
      counted('invalid', 'invalid transaction: invalid sender'),
    ],
  },
  silent: {
    alreadyKnown: 'puts transactions into blocks at once: the same bytes again are "nonce too low"',
    replacementUnderpriced: 'puts transactions into blocks at once',
    poolFull: 'puts transactions into blocks at once',
    delegatedLimit: 'older than EIP-7702',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}
