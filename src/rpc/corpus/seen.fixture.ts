import { accepted, type ClientCorpus, counted, HASH, refused, unclear } from './corpus.fixture.js'

/** Further chains, as users met them in production. The corpus claims nothing about their other messages. */
export const seen: readonly ClientCorpus[] = [
  {
    client: 'others, as seen in production',
    code: -32000,
    said: {
      'smartcontractkit/chainlink core/chains/evm/client/errors_test.go': [
        accepted('alreadyKnown', `known transaction: ${HASH}`),
        accepted('alreadyKnown', 'Known transaction (7f65)'),
        // Harmony
        accepted('alreadyKnown', 'transaction already finalized'),
        counted('screened', '`from` address of transaction in blacklist'),
        counted('screened', '`to` address of transaction in blacklist'),
        // Substrate with Frontier
        refused('nonceTooLow', 'submit transaction to pool failed: Pool(Stale)'),
        accepted('alreadyKnown', 'submit transaction to pool failed: Pool(AlreadyImported)'),
        // Older geth
        refused('insufficientFunds', 'insufficient balance for transfer'),
        counted('feeCapExceeded', 'tx fee (1.10 FTM) exceeds the configured cap (1.00 FTM)'),
      ],
      'smartcontractkit/chainlink-evm pkg/client/errors.go': [
        // Kaia
        refused('replacementUnderpriced', 'there is another tx which has the same nonce in the tx pool'),
        // Sei
        accepted('alreadyKnown', 'tx already exists in cache'),
        counted('invalid', 'Tx too large. Max size is 1048576, but got 1048600'),
        // Monad
        counted('gasLimit', 'Gas limit too low'),
        refused('insufficientFunds', 'Signer had insufficient balance'),
        // Astar
        refused('feeTooLow', 'gas price less than block base fee'),
        // Hedera
        refused('feeTooLow', "Gas price '1' is below configured minimum gas price '710000000000'"),
        counted('gasLimit', "Transaction gas limit '20000000' exceeds block gas limit '15000000'"),
        counted(
          'gasLimit',
          "Transaction gas limit provided '20000' is insufficient of intrinsic gas required '21000'",
        ),
        refused('nonceTooLow', 'Nonce too low. Provided nonce: 5, current nonce: 7', { expectedNonce: 7 }),
        // Mantle
        refused(
          'nonceTooLow',
          "failed to forward tx to sequencer, please try again. Error message: 'nonce too low: next nonce 7, tx nonce 5'",
          { expectedNonce: 7 },
        ),
        counted(
          'invalid',
          "failed to forward tx to sequencer, please try again. Error message: 'invalid sender'",
        ),
      ],
      'cosmos/evm mempool/errors.go': [
        refused('nonceTooLow', 'tx nonce is lower than account nonce'),
        refused('nonceTooHigh', 'tx nonce is higher than account nonce'),
        refused('poolFull', 'queue full'),
      ],
      'cosmos/evm ante/evm/09_increment_sequence.go': [
        refused('nonceTooHigh', 'invalid nonce; got 9, expected 8: invalid sequence', { expectedNonce: 8 }),
        refused('nonceTooLow', 'invalid nonce; got 7, expected 8: invalid sequence', { expectedNonce: 8 }),
        refused(
          'nonceTooHigh',
          'rpc error: code = Unknown desc = invalid nonce; got 9, expected 8: invalid sequence',
          {
            expectedNonce: 8,
          },
        ),
      ],
      'ethereum/EIPs EIPS/eip-7966.md': [
        accepted(
          'syncTimeout',
          "The transaction was added to the mempool but wasn't processed in 5 seconds",
          {
            code: 4,
            data: HASH,
          },
        ),
        unclear(
          'unknown',
          "The transaction was added to the mempool but wasn't processed due to a missing nonce or insufficient funds. Please double-check your account and try again.",
          { code: 5, data: HASH },
        ),
      ],
    },
    silent: {},
  },
]
