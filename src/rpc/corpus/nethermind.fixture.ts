import { accepted, type ClientCorpus, counted, intrinsic, refused } from './corpus.fixture.js'

export const nethermind: ClientCorpus = {
  client: 'Nethermind',
  code: -32010,
  said: {
    'NethermindEth/nethermind src/Nethermind/Nethermind.TxPool/TxPoolErrorMessages.cs': [
      accepted('alreadyKnown', 'already known'),
      refused('feeTooLow', 'transaction underpriced, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7'),
      refused('replacementUnderpriced', 'replacement transaction underpriced'),
      counted('gasLimit', 'gas limit reached, Gas limit: 30000000, gas limit of rejected tx: 40000000'),
      refused(
        'insufficientFunds',
        'insufficient funds for gas * price + value, Account balance: 1, cumulative cost: 2',
      ),
      refused('nonceTooHigh', 'nonce too high, Future nonce. Expected nonce: 10', { expectedNonce: 10 }),
      refused('nonceTooLow', 'nonce too low, Current nonce: 7, nonce of rejected tx: 5', {
        expectedNonce: 7,
      }),
      refused('nonceTooHigh', 'nonce too far in future'),
      counted('invalid', 'sender not an eoa'),
      counted('invalid', 'failed to recover sender'),
      intrinsic('invalid', 'transaction cost overflow'),
      counted('invalid', 'transaction invalid'),
      refused('poolFull', 'pending transaction type conflict'),
      counted('invalid', 'unsupported transaction type'),
      counted('invalid', 'transaction too large, Max tx size: 131072'),
      refused('delegatedLimit', 'delegation nonce gap'),
      refused('delegatedLimit', 'delegation authority has pending transaction'),
      refused('notReady', 'node is syncing'),
    ],
    // Preceded by the code of the result: "transaction invalid, …".
    'NethermindEth/nethermind src/Nethermind/Nethermind.Core/Messages/TxErrorMessages.cs': [
      counted('gasLimit', 'transaction invalid, intrinsic gas too low'),
      counted('invalid', 'transaction invalid, InvalidTxSignature: Signature is invalid.'),
      refused('wrongChain', 'transaction invalid, InvalidTxChainId: Expected 1, got 100.'),
      intrinsic(
        'invalid',
        'transaction invalid, InvalidMaxPriorityFeePerGas: Cannot be higher than maxFeePerGas.',
      ),
      intrinsic('invalid', 'transaction invalid, NonceTooHigh: Nonce exceeds max nonce'),
      counted('invalid', 'transaction invalid, max initcode size exceeded'),
      intrinsic('invalid', 'transaction invalid, MissingAuthorizationList: Must be set.'),
      intrinsic('invalid', 'transaction invalid, NotAllowedCreateTransaction: To must be set.'),
      intrinsic('invalid', 'transaction invalid, EIP-7702 transaction with empty auth list'),
      intrinsic('invalid', 'transaction invalid, blob transaction missing blob hashes'),
      counted('invalid', 'transaction invalid, InvalidTxType: Transaction type in London is not supported.'),
      counted(
        'gasLimit',
        'transaction invalid, TxGasLimitCapExceeded: Gas limit 17000000 exceeded cap of 16777216.',
      ),
      counted(
        'invalid',
        'transaction invalid, InvalidAuthoritySignature: Invalid signature in authorization list.',
      ),
    ],
  },
  silent: {
    feeCapExceeded: 'has no cap on the fee of a transaction',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}

/** Until 2025 the messages were the names of the results. */
export const nethermindOld: ClientCorpus = {
  client: 'Nethermind (legacy)',
  code: -32010,
  said: {
    'NethermindEth/nethermind src/Nethermind/Nethermind.TxPool/AcceptTxResult.cs (to 2025)': [
      accepted('alreadyKnown', 'AlreadyKnown'),
      refused(
        'feeTooLow',
        'FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7, MaxPriorityFeePerGas:1, Block number: 99',
      ),
      refused(
        'feeTooLow',
        'FeeTooLow, FeePerGas needs to be higher than 5 to be added to the TxPool. Affordable FeePerGas of rejected tx: 4.',
      ),
      refused('feeTooLow', 'FeeTooLowToCompete'),
      counted('invalid', 'FailedToResolveSender'),
      counted('gasLimit', 'GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 40000000'),
      refused('insufficientFunds', 'InsufficientFunds, Account balance: 1, cumulative cost: 2'),
      refused('insufficientFunds', 'InsufficientFunds, Balance is 1 less than sending value + gas 2'),
      intrinsic('invalid', 'Int256Overflow'),
      refused('nonceTooHigh', 'NonceGap, Future nonce. Expected nonce: 10', { expectedNonce: 10 }),
      refused('nonceTooHigh', 'NonceTooFarInFuture'),
      refused('nonceTooLow', 'OldNonce, Current nonce: 7, nonce of rejected tx: 5', { expectedNonce: 7 }),
      refused('replacementUnderpriced', 'OwnNonceAlreadyUsed'),
      refused('replacementUnderpriced', 'ReplacementNotAllowed'),
      counted('invalid', 'SenderIsContract'),
      refused('poolFull', 'PendingTxsOfOtherType'),
      counted('invalid', 'Invalid, InvalidTxSignature: Signature is invalid.'),
    ],
    // Added while results still used their names, but read after they had got messages of their own.
    'NethermindEth/nethermind src/Nethermind/Nethermind.TxPool/AcceptTxResult.cs (names)': [
      refused('poolFull', 'PendingTxsOfConflictingType'),
      counted('invalid', 'NotSupportedTxType'),
      counted('invalid', 'MaxTxSizeExceeded, Max size: 131072'),
      refused('delegatedLimit', 'NotCurrentNonceForDelegation'),
      refused('delegatedLimit', 'DelegatorHasPendingTx'),
    ],
    'smartcontractkit/chainlink core/chains/evm/client/errors_test.go': [
      counted('invalid', 'Invalid, transaction Hash is null'),
      refused('nonceTooLow', 'call failed: OldNonce'),
    ],
  },
  silent: {
    feeCapExceeded: 'has no cap on the fee of a transaction',
    notReady: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}
