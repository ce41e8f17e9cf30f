import { accepted, type ClientCorpus, counted, HASH, intrinsic, refused, unclear } from './corpus.fixture.js'

export const anvil: ClientCorpus = {
  client: 'anvil',
  code: -32003,
  said: {
    'foundry-rs/foundry crates/anvil/src/eth/error.rs': [
      accepted('alreadyKnown', `Tx: [${HASH}] already Imported`),
      refused(
        'replacementUnderpriced',
        `Tx: [${HASH}] insufficient gas price to replace existing transaction`,
      ),
      refused('nonceTooLow', 'nonce too low'),
      refused('nonceTooHigh', 'Nonce too high'),
      intrinsic('invalid', 'nonce has max value'),
      refused('insufficientFunds', 'insufficient funds for transfer'),
      refused('insufficientFunds', 'Insufficient funds for gas * price + value'),
      counted('invalid', 'max initcode size exceeded'),
      counted('gasLimit', 'gas uint64 overflow'),
      counted('gasLimit', 'intrinsic gas too low'),
      counted('gasLimit', 'intrinsic gas too high -- tx.gas_limit > env.block.gas_limit'),
      counted(
        'gasLimit',
        'Transaction gas limit is greater than the block gas limit, gas_limit: 40000000, cap: 30000000',
      ),
      intrinsic('invalid', 'max priority fee per gas higher than max fee per gas'),
      refused('feeTooLow', 'max fee per gas less than block base fee'),
      refused('feeTooLow', 'Block `blob_gas_price` is greater than tx-specified `max_fee_per_blob_gas`'),
      counted('invalid', 'sender not an eoa'),
      refused('wrongChain', 'invalid chain id for signer'),
      refused('wrongChain', 'Incompatible EIP-155 transaction, signed for another chain'),
      counted('invalid', 'EIP-7702 authorization lists are not supported before the Prague hardfork'),
      counted('invalid', 'Failed to decode signed transaction', { code: -32602 }),
      counted('invalid', 'Failed to decode transaction', { code: -32602 }),
      accepted('syncTimeout', `Transaction ${HASH} was added to the mempool but wasn't confirmed within 2s`, {
        code: 4,
        data: HASH,
      }),
    ],
    'anvil 1.7.1, asked': [
      accepted('alreadyKnown', 'transaction already imported'),
      // To eth_sendRawTransactionSync. It takes no timeout, and waits for 30 s.
      accepted('syncTimeout', 'Transaction confirmation timeout', { code: -32603 }),
      unclear('unknown', 'expected params sequence with length 1 but got 2', { code: -32602 }),
      counted('gasLimit', 'intrinsic gas too high -- tx.gas_limit > env.block.gas_limit', { code: -32000 }),
      counted('invalid', 'Failed to recover the signer', { code: -32602 }),
    ],
  },
  silent: {
    poolFull: 'its pool has no limit',
    delegatedLimit: 'its pool has no such rule',
    feeCapExceeded: 'has no cap on the fee of a transaction',
    notReady: 'is always ready',
  },
}

export const hardhat: ClientCorpus = {
  client: 'Hardhat EDR',
  code: -32000,
  said: {
    'NomicFoundation/edr crates/edr_provider/src/error.rs': [
      refused(
        'nonceTooHigh',
        "Nonce too high. Expected nonce to be 7 but got 9. Note that transactions can't be queued when automining.",
        { expectedNonce: 7 },
      ),
      refused(
        'nonceTooLow',
        "Nonce too low. Expected nonce to be 7 but got 5. Note that transactions can't be queued when automining.",
        { expectedNonce: 7 },
      ),
      refused(
        'feeTooLow',
        'Transaction gasPrice (1) is too low for the next block, which has a baseFeePerGas of 7',
      ),
      refused(
        'feeTooLow',
        'Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 7',
      ),
      refused(
        'feeTooLow',
        'Transaction maxFeePerBlobGas (1) is too low for the next block, which has a baseFeePerBlobGas of 7',
      ),
      refused('feeTooLow', 'Transaction gas price is 1, which is below the minimum of 7'),
      refused('wrongChain', 'Invalid chainId 1 provided, expected 31337 instead.', { code: -32602 }),
      refused('wrongChain', 'Trying to send an incompatible EIP-155 transaction, signed for another chain.', {
        code: -32602,
      }),
      intrinsic('invalid', 'Invalid EIP-7702 transaction: authorization list is empty.'),
      intrinsic('invalid', 'Invalid EIP-7702 transaction: to (receiver) parameter is missing.'),
      counted('invalid', 'Invalid transaction type 5.', { code: -32602 }),
    ],
    'NomicFoundation/edr, the enum MemPoolAddTransactionError': [
      counted('gasLimit', 'Transaction gas limit is 40000000 and exceeds block gas limit of 30000000'),
      refused(
        'insufficientFunds',
        "Sender doesn't have enough funds to send tx. The max upfront cost is: 2 and the sender's balance is: 1.",
      ),
      refused('nonceTooLow', 'Transaction nonce too low. Expected nonce to be at least 7 but got 5.', {
        expectedNonce: 7,
      }),
      accepted('alreadyKnown', `Known transaction: ${HASH}`),
      refused(
        'replacementUnderpriced',
        'Replacement transaction underpriced. A gasPrice/maxFeePerGas of at least 1100 is necessary to replace the existing transaction with nonce 0.',
      ),
    ],
    'Hardhat 2.29.0, asked': [
      counted('gasLimit', 'Transaction requires at least 21000 gas but got 20000'),
      // 1,000 non-zero bytes: the floor of EIP-7623.
      counted('gasLimit', 'Transaction requires at least 37000 gas but got 25000'),
      counted('gasLimit', 'Transaction requires gas floor of 61000 but got limit of 40000'),
      counted('gasLimit', 'Transaction gas limit is 16777217 and exceeds transaction gas cap of 16777216'),
      refused(
        'wrongChain',
        'Trying to send a raw transaction with an invalid chainId. The expected chainId is 31337',
        { code: -32602 },
      ),
      counted(
        'invalid',
        "\nTrying to send a deployment transaction whose init code length is 49153. The max length allowed by EIP-3860 is 49152.\n\nEnable the 'allowUnlimitedContractSize' option to allow init codes of any length.",
        { code: -32602 },
      ),
      // Other clients include it: it creates an account without code.
      counted('invalid', 'Contract creation without any data provided'),
      intrinsic('invalid', 'maxPriorityFeePerGas (6000000000) is bigger than maxFeePerGas (5000000000)'),
      refused(
        'nonceTooLow',
        "Nonce too low. Expected nonce to be 2 but got 1. Note that transactions can't be queued when automining.",
        { expectedNonce: 2 },
      ),
      refused(
        'nonceTooHigh',
        "Nonce too high. Expected nonce to be 4 but got 14. Note that transactions can't be queued when automining.",
        { expectedNonce: 4 },
      ),
      counted('invalid', 'Invalid transaction type 18.', { code: -32602 }),
      counted('invalid', 'input too short', { code: -32602 }),
      intrinsic('invalid', 'Invalid Signature', { code: -32602 }),
    ],
  },
  silent: {
    poolFull: 'its pool has no limit',
    delegatedLimit: 'its pool has no such rule',
    feeCapExceeded: 'has no cap on the fee of a transaction',
    notReady: 'is always ready',
    syncTimeout: 'not found',
  },
}
