import { accepted, type ClientCorpus, counted, intrinsic, refused, SENDER } from './corpus.fixture.js'

export const avalanche: ClientCorpus = {
  client: 'Avalanche',
  code: -32000,
  said: {
    'ava-labs/coreth core/txpool/txpool.go': [
      accepted('alreadyKnown', 'already known'),
      refused('replacementUnderpriced', 'replacement transaction underpriced'),
      refused('poolFull', 'txpool is full'),
      refused('poolFull', 'future transaction tries to replace pending'),
      refused('insufficientFunds', 'transaction would cause overdraft'),
      counted('invalid', 'invalid sender'),
      intrinsic('invalid', 'negative value'),
    ],
    'ava-labs/coreth core/txpool/validation.go': [
      refused('nonceTooLow', `nonce too low: address ${SENDER} next nonce 7, tx nonce 5`, {
        expectedNonce: 7,
      }),
      refused('nonceTooHigh', `nonce too high: address ${SENDER} tx nonce 9, gapped nonce 7`, {
        expectedNonce: 7,
      }),
      refused(
        'feeTooLow',
        `transaction underpriced: address ${SENDER} have gas fee cap (1) < pool minimum fee cap (25000000000)`,
      ),
      refused('feeTooLow', `transaction underpriced: address ${SENDER} tip needed 1, tip permitted 0`),
      refused(
        'insufficientFunds',
        `insufficient funds for gas * price + value: address ${SENDER} balance 1, tx cost 2, overshot 1`,
      ),
      counted('gasLimit', 'exceeds block gas limit: tx gas (20000000) > current max gas (15000000)'),
      counted('gasLimit', `intrinsic gas too low: address ${SENDER} needed 21000, allowed 20000`),
      counted('invalid', 'oversized data: transaction size 131087, limit 131072'),
      counted('invalid', 'max initcode size exceeded: code size 49153, limit 49152'),
      counted('invalid', 'transaction type not supported: type 2 rejected, pool not yet in London'),
    ],
    'smartcontractkit/chainlink core/chains/evm/client/errors_test.go': [
      refused(
        'nonceTooLow',
        `call failed: nonce too low: address ${SENDER} current nonce (5833) > tx nonce (5511)`,
        {
          expectedNonce: 5_833,
        },
      ),
    ],
    'ethereum/go-ethereum internal/ethapi/api.go': [
      counted('feeCapExceeded', 'tx fee (1.10 avax) exceeds the configured cap (1.00 avax)'),
    ],
  },
  silent: {
    delegatedLimit: 'not found',
    notReady: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}

export const celo: ClientCorpus = {
  client: 'Celo',
  code: -32000,
  said: {
    'celo-org/celo-blockchain core/error.go': [
      refused('nonceTooLow', 'nonce too low'),
      refused('nonceTooHigh', 'nonce too high'),
      refused('insufficientFunds', 'insufficient funds for transfer (after fees)'),
      refused('insufficientFunds', 'insufficient funds for gas * price + value + gatewayFee'),
      refused('insufficientFunds', 'insufficient funds to pay for fees'),
      refused('feeTooLow', 'gasprice is less than gas price minimum'),
      counted('gasLimit', 'intrinsic gas too low'),
      counted('gasLimit', 'gas limit reached'),
      counted('invalid', 'non-whitelisted fee currency address'),
      counted('invalid', 'support for eth-compatible transactions is not enabled'),
      counted('invalid', 'replay protection is required'),
    ],
    'smartcontractkit/chainlink-evm pkg/client/errors.go': [
      refused('feeTooLow', 'gasprice is less than gas price minimum floor'),
      counted('feeCapExceeded', 'tx fee (1.10 of currency celo) exceeds the configured cap (1.00 celo)'),
      refused('poolFull', 'txpool is full'),
    ],
    'celo-org/op-geth core/txpool/errors.go': [
      accepted('alreadyKnown', 'already known'),
      refused('replacementUnderpriced', 'replacement transaction underpriced'),
      refused('feeTooLow', 'transaction underpriced'),
      refused('poolFull', 'account limit exceeded: pooled 16 txs'),
      refused('poolFull', 'address already reserved'),
      counted('gasLimit', 'exceeds block gas limit'),
      counted('invalid', 'invalid sender'),
      counted('invalid', 'oversized data: transaction size 131087, limit 131072'),
    ],
    'celo-org/op-geth common/exchange/rates.go': [counted('invalid', 'unregistered fee-currency address')],
  },
  silent: {
    delegatedLimit: 'not found in its fork',
    notReady: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}

export const openethereum: ClientCorpus = {
  client: 'Parity/OpenEthereum',
  code: -32010,
  said: {
    'openethereum/openethereum rpc/src/v1/helpers/errors.rs': [
      accepted('alreadyKnown', 'Transaction with the same hash was already imported.'),
      refused('nonceTooLow', 'Transaction nonce is too low. Try incrementing the nonce.'),
      refused(
        'replacementUnderpriced',
        'Transaction gas price 100wei is too low. There is another transaction with same nonce in the queue with gas price: 150wei. Try increasing the gas price or incrementing the nonce.',
      ),
      refused(
        'replacementUnderpriced',
        'Transaction gas price supplied is too low. There is another transaction with same nonce in the queue. Try increasing the gas price or incrementing the nonce.',
      ),
      refused(
        'poolFull',
        'There are too many transactions in the queue. Your transaction was dropped due to limit. Try increasing the fee.',
      ),
      counted(
        'gasLimit',
        'Transaction gas is too low. There is not enough gas to cover minimal cost of the transaction (minimal: 21000, got: 20000). Try increasing supplied gas.',
      ),
      refused(
        'feeTooLow',
        "Transaction gas price is too low. It does not satisfy your node's minimal gas price (minimal: 100, got: 50). Try increasing the gas price.",
      ),
      refused(
        'insufficientFunds',
        'Insufficient funds. The account you tried to send transaction from does not have enough funds. Required 200 and got: 100.',
      ),
      counted(
        'gasLimit',
        'Transaction cost exceeds current gas limit. Limit: 50, got: 100. Try decreasing supplied gas.',
      ),
      counted('gasLimit', 'Supplied gas is beyond limit.'),
      intrinsic('invalid', 'Invalid signature: invalid EC signature'),
      refused('wrongChain', 'Invalid chain id.'),
      counted('screened', 'Sender is banned in local queue.'),
      counted('screened', 'Recipient is banned in local queue.'),
      counted('screened', 'Code is banned in local queue.'),
      counted('screened', 'Transaction is not permitted.'),
      counted('invalid', 'Transaction is too big, see chain specification for the limit.'),
      counted('invalid', 'Invalid RLP data: RlpIsTooShort'),
      counted('invalid', 'Invalid RLP.', { code: -32602 }),
    ],
    'smartcontractkit/chainlink core/chains/evm/client/errors_test.go': [
      refused('insufficientFunds', 'Insufficient balance for transaction. Balance=100.25, Cost=200.50'),
    ],
  },
  silent: {
    nonceTooHigh: 'queues transactions with a gap before them',
    delegatedLimit: 'older than EIP-7702',
    feeCapExceeded: 'has no cap on the fee of a transaction',
    notReady: 'not found',
    syncTimeout: 'has no eth_sendRawTransactionSync',
  },
}
