import { accepted, type ClientCorpus, counted, intrinsic, refused } from './corpus.fixture.js'

export const besu: ClientCorpus = {
  client: 'Besu',
  code: -32000,
  said: {
    'hyperledger/besu ethereum/api/src/main/java/org/hyperledger/besu/ethereum/api/jsonrpc/internal/response/RpcErrorType.java':
      [
        accepted('alreadyKnown', 'Known transaction'),
        refused('replacementUnderpriced', 'Replacement transaction underpriced'),
        refused('nonceTooLow', 'Nonce too low', { code: -32001 }),
        intrinsic('invalid', 'Invalid signature', { code: -32002 }),
        counted('invalid', 'Invalid transaction type', { code: -32602 }),
        counted('invalid', 'Invalid transaction params (missing or incorrect)', { code: -32602 }),
        counted('gasLimit', 'Intrinsic gas exceeds gas limit', { code: -32003 }),
        refused('insufficientFunds', 'Upfront cost exceeds account balance', { code: -32004 }),
        counted('gasLimit', 'Transaction gas limit exceeds block gas limit', { code: -32005 }),
        counted('gasLimit', 'Total blob gas too high'),
        refused('nonceTooHigh', 'Nonce too high', { code: -32006 }),
        refused('nonceTooHigh', 'Transaction nonce is too distant from current sender nonce'),
        refused('nonceTooHigh', 'An invalid transaction with a lower nonce exists'),
        counted('screened', 'Sender account not authorized to send transactions', { code: -32007 }),
        counted('screened', 'Plugin has marked the transaction as invalid'),
        refused('notReady', 'Initial sync is still in progress', { code: -32008 }),
        refused(
          'notReady',
          'Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).',
          { code: -32002 },
        ),
        refused('feeTooLow', 'Gas price below configured minimum gas price', { code: -32009 }),
        refused('feeTooLow', 'Gas price below current base fee', { code: -32009 }),
        refused('feeTooLow', 'blob gas price below current blob base fee', { code: -32009 }),
        refused('wrongChain', 'Wrong chainId'),
        counted('invalid', 'ChainId not supported'),
        counted('invalid', 'ChainId is required'),
        counted('feeCapExceeded', 'Transaction fee cap exceeded'),
        intrinsic('invalid', 'Max priority fee per gas exceeds max fee per gas'),
      ],
    'hyperledger/besu ethereum/api/src/main/java/org/hyperledger/besu/ethereum/api/jsonrpc/internal/response/JsonRpcError.java':
      [refused('nonceTooHigh', 'Incorrect nonce', { code: -32006 })],
  },
  silent: {
    poolFull: 'drops the least valuable transaction without a word',
    delegatedLimit: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}

const VALIDATORS =
  'Consensys/linea-monorepo besu-plugins/linea-sequencer/sequencer/src/main/java/net/consensys/linea/sequencer/txpoolvalidation/validators'

export const linea: ClientCorpus = {
  client: 'Linea',
  code: -32000,
  said: {
    [`${VALIDATORS}/DeniedAddressValidator.java`]: [
      counted(
        'screened',
        'sender 0x8c7e4b21 is blocked as appearing on the SDN or other legally prohibited list',
      ),
      counted(
        'screened',
        'recipient 0x8c7e4b21 is blocked as appearing on the SDN or other legally prohibited list',
      ),
      counted(
        'screened',
        'authorization authority 0x8c7e4b21 is blocked as appearing on the SDN or other legally prohibited list',
      ),
    ],
    [`${VALIDATORS}/GasLimitValidator.java`]: [
      counted('gasLimit', 'Gas limit of transaction is greater than the allowed max of 24000000'),
    ],
    [`${VALIDATORS}/CalldataValidator.java`]: [
      counted('invalid', 'Calldata of transaction is greater than the allowed max of 30000'),
    ],
  },
  silent: {},
}
