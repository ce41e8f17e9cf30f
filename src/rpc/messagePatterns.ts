/** Words of an executed or simulated contract: whatever else the message quotes is not the pool's word. */
export const REVERT_WORDS: readonly string[] = [
  'revert',
  'vm exception',
  'vm execution error',
  'error function_selector',
]

/** Ganache 7.9 calls an exception what it refused before it ran anything. */
export const NOT_RUN =
  /vm exception while processing transaction: (?=transaction's (?:maxfeepergas|gasprice) \()/

/** Words of a rate limit. They count only beside one of the codes or the HTTP status that stand for one. */
export const RATE_LIMIT_WORDS: readonly string[] = [
  'rate limit',
  'rate-limit',
  'ratelimit',
  'rate exceeded',
  'too many requests',
  'request limit',
  'requests per',
  'requests capacity',
  'rps limit',
  'credits limited',
  'compute units',
  'throughput',
  'throttl',
  'limit exceeded',
  'limit reached',
  'request count exceeded',
  'quota',
]

/** Where a message about a nonce tells the account's next one. */
export const NONCE_HINTS: readonly RegExp[] = [
  /next nonce:? (\d+)/, // geth, reth
  /gapped nonce (\d+)/, // geth's blob pool
  /tx: \d+ state: (\d+)/, // Nitro
  /current nonce \((\d+)\)/, // Avalanche
  /current nonce: (\d+)/, // Nethermind, Hedera
  /expected nonce(?: to be(?: at least)?)?:? (\d+)/, // Nethermind, EDR
  /allowed nonce range: (\d+) - \d/, // zkSync Era
  /nonce too low: expected (\d+)/,
  /account has nonce (?:of: )?(\d+)/, // Ganache, EthereumJS
  /invalid nonce; got \d+, expected (\d+)/, // Cosmos chains
]

/**
 * Messages that are the same for a nonce below and above the account's, and state both numbers: which groups hold the
 * transaction's nonce and the account's.
 */
export const NONCE_SIDES: readonly { readonly words: RegExp; readonly tx: 1 | 2; readonly account: 1 | 2 }[] =
  [
    // Ganache 7.9, asked
    { words: /account has nonce of: (\d+) tx has nonce of: (\d+)/, tx: 2, account: 1 },
    // cosmos/evm ante/evm/09_increment_sequence.go
    { words: /invalid nonce; got (\d+), expected (\d+)/, tx: 1, account: 2 },
  ]

/** The highest nonce that a node takes now: zkSync Era core/node/api_server/src/tx_sender/result.rs. */
export const NONCE_MAX_HINT = /allowed nonce range: \d+ - (\d+)/

/**
 * Words of a clause that a wrapper puts before a node's message. A word with dashes ("op-geth", "json-rpc") is one where
 * a part of it is.
 */
export const WRAPPER_WORDS: ReadonlySet<string> = new Set([
  ...['err', 'error', 'errors', 'rpc', 'jsonrpc', 'failed', 'rejected', 'invalid', 'sender', 'details'],
  ...[
    'pool',
    'txpool',
    'mempool',
    'sequencer',
    'code',
    'message',
    'msg',
    'desc',
    'node',
    'upstream',
    'provider',
  ],
  ...[
    'server',
    'client',
    'backend',
    'gateway',
    'proxy',
    'response',
    'request',
    'internal',
    'call',
    'transaction',
  ],
  ...['tx', 'eth_sendrawtransaction', 'eth_sendrawtransactionsync', 'cause'],
  // Names of Erigon's results, which stand before its words.
  ...['internal_error', 'already_exists', 'fee_too_low', 'stale', 'success'],
  ...['geth', 'reth', 'base', 'erigon', 'besu', 'nethermind', 'anvil', 'hardhat', 'nitro'],
  ...[
    'alchemy',
    'infura',
    'quicknode',
    'ankr',
    'drpc',
    'chainstack',
    'tenderly',
    'blockdaemon',
    'blast',
    'web3',
  ],
])
