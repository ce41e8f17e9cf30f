import { accepted, type ClientCorpus, counted, HASH, intrinsic, refused, SENDER } from './corpus.fixture.js'

export const ganache: ClientCorpus = {
  client: 'Ganache',
  code: -32000,
  said: {
    'Ganache 7.9, asked': [
      refused(
        'nonceTooLow',
        "the tx doesn't have the correct nonce. account has nonce of: 3 tx has nonce of: 2",
        {
          expectedNonce: 3,
        },
      ),
      counted('gasLimit', 'intrinsic gas too low'),
      counted('gasLimit', 'exceeds block gas limit'),
      refused('wrongChain', 'Invalid chain id (1) for chain with id 1337.'),
      counted(
        'invalid',
        "Transaction's `data`/`input` field is greater than 49152 bytes, which isn't allowed as of EIP-3860. To bypass this restriction set the `--chain.allowUnlimitedInitCodeSize` flag to `true`.",
      ),
      counted('invalid', 'Could not decode transaction: invalid RLP: remainder must be zero', {
        code: -32700,
      }),
      refused('insufficientFunds', 'insufficient funds for gas * price + value', { code: -32003 }),
      // Used while the same bytes are pooled, and for a replacement with too low fees.
      refused('feeTooLow', 'transaction underpriced', { code: -32003 }),
      refused(
        'feeTooLow',
        "VM Exception while processing transaction: Transaction's maxFeePerGas (1) is less than the block's baseFeePerGas (673536321) (vm hf=shanghai -> block -> tx)",
      ),
      refused(
        'feeTooLow',
        "Transaction's gasPrice (1) is less than the block's baseFeePerGas (673536321) (vm hf=shanghai -> block -> tx)",
      ),
      refused('nonceTooLow', 'nonce too low'),
      intrinsic('invalid', 'Invalid signature'),
    ],
  },
  silent: {
    alreadyKnown: 'says that it is underpriced',
    nonceTooHigh: 'answers a gapped nonce when it is mined',
    replacementUnderpriced: 'says that it is underpriced',
    poolFull: 'its pool has no limit',
    delegatedLimit: 'older than EIP-7702',
    feeCapExceeded: 'has no cap on the fee of a transaction',
    notReady: 'is always ready',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}

export const ethereumjs: ClientCorpus = {
  client: 'EthereumJS',
  code: -32602,
  said: {
    'ethereumjs/ethereumjs-monorepo packages/client/src/service/txpool.ts': [
      refused(
        'nonceTooLow',
        `${SENDER} tries to send a tx with nonce 0, but account has nonce 1 (tx nonce too low)`,
        { expectedNonce: 1 },
      ),
      accepted('alreadyKnown', `${HASH}: this transaction is already in the TxPool`),
      refused(
        'insufficientFunds',
        `${SENDER} does not have enough balance to cover transaction costs, need 42000000000000, but have 0 (insufficient balance)`,
      ),
      refused('replacementUnderpriced', 'replacement gas too low, got tip 10, min: 22, got fee 30, min: 44'),
      refused('replacementUnderpriced', 'replacement gas too low'),
      refused('replacementUnderpriced', 'replacement blob gas too low'),
      counted('invalid', 'Tx is too large (131073 bytes) and exceeds the max data size of 131072 bytes'),
      refused('poolFull', 'Cannot add tx: pool is full'),
      refused('feeTooLow', 'Tx does not pay the minimum gas price of 1000000000'),
      refused('poolFull', `Cannot add tx for ${SENDER}: already have max amount of txs for this account`),
      refused(
        'feeTooLow',
        'Tx cannot pay basefee of 1000000000, have 1 (not within 50% range of current basefee)',
      ),
      counted(
        'gasLimit',
        'Tx gaslimit of 40000000 exceeds block gas limit of 30000000 (exceeds last block gas limit)',
      ),
    ],
    'ethereumjs/ethereumjs-monorepo packages/client/src/rpc/modules/eth.ts': [
      counted('invalid', 'serialized tx data could not be parsed (Invalid serialized tx input)', {
        code: -32700,
      }),
    ],
  },
  silent: {
    nonceTooHigh: 'pools them',
    delegatedLimit: 'its pool has no such rule',
    feeCapExceeded: 'has no cap on the fee of a transaction',
    notReady: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}
