import { accepted, counted, refused, type Said, unclear } from './corpus.fixture.js'

/** Messages of hosted providers themselves, and the forms in which they pass on a node's message. */
export type ProviderCorpus = {
  readonly provider: string
  /** The source in which it was read. */
  readonly source: string
  readonly said: readonly Said[]
}

const limited = (code: number, message: string, retryAfterMs?: number, data?: unknown): Said =>
  refused('rateLimited', message, {
    code,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(data === undefined ? {} : { data }),
  })

export const PROVIDERS: readonly ProviderCorpus[] = [
  {
    provider: 'Alchemy',
    source: 'alchemy.com/docs/reference/throughput, /op-mainnet-error-codes',
    said: [
      limited(
        429,
        'Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.',
      ),
      limited(
        429,
        'Your app has exceeded its concurrent requests capacity. If you have retries enabled, you can safely ignore this message.',
      ),
      limited(
        429,
        'Optimism sequencer sender global transaction limit exceeded. This limit is set at the chain level.',
      ),
      refused('delegatedLimit', 'gapped-nonce tx from delegated accounts is temporarily not allowed', {
        code: -32000,
      }),
      unclear('unknown', 'Transaction simulation failed', { code: -32002 }),
    ],
  },
  {
    provider: 'Infura',
    source: 'docs.infura.io/infura/networks/ethereum/how-to/avoid-rate-limiting',
    said: [
      limited(-32005, 'daily request count exceeded, request rate limited'),
      limited(-32005, 'daily request count exceeded, request rate limited', 30_000, {
        rate: { allowed_rps: 1, backoff_seconds: 30, current_rps: 1.4 },
      }),
      limited(-32005, 'project ID request rate exceeded', 30_000, {
        see: 'https://infura.io/docs/ethereum/jsonrpc/ratelimits',
        current_rps: 13.333,
        allowed_rps: 10,
        backoff_seconds: 30,
      }),
      limited(429, 'Too Many Requests'),
    ],
  },
  {
    provider: 'QuickNode',
    source: 'github.com/foundry-rs/foundry/issues/4894, pull/6712',
    said: [
      limited(
        -32007,
        '100/second request limit reached - reduce calls per second or upgrade your account at quicknode.com',
      ),
      limited(-32012, 'credits limited to 6000/sec'),
    ],
  },
  {
    provider: 'Ankr',
    source: 'bodies of rpc.ankr.com and polygon-rpc.com, in public test suites of other clients',
    said: [
      limited(-32090, 'Too many requests, reason: call rate limit exhausted, retry in 10s', 10_000),
      limited(-32090, 'Too many requests, reason: call rate limit exhausted, retry in 10m0s', 600_000),
    ],
  },
  {
    provider: 'Chainstack',
    source: 'BobTheBuidler/dank_mids, types.py',
    said: [limited(-32005, "You've exceeded the RPS limit available on the current plan.")],
  },
  {
    provider: 'Tenderly',
    source: 'github.com/fluencelabs/dev-rewards/issues/20',
    said: [limited(-32005, 'rate limit exceeded')],
  },
  {
    provider: "Base's public endpoint",
    source: 'github.com/base/node/issues/368',
    said: [
      limited(-32016, 'over rate limit'),
      limited(
        -32000,
        '429 Too Many Requests: {"jsonrpc":"2.0","error":{"code":-32016,"message":"over rate limit"},"id":2239375}\n',
      ),
    ],
  },
  {
    provider: 'MegaETH',
    source: 'github.com/megaeth-labs/documentation/pull/83',
    said: [limited(-32005, 'Rate limit exceeded')],
  },
  {
    provider: 'wrappers that hand a node on',
    source:
      'smartcontractkit/chainlink core/chains/evm/client/errors_test.go; ethereum/go-ethereum graphql and internal/ethapi',
    said: [
      refused('nonceTooLow', 'primary websocket (wss://ws-mainnet.optimism.io) call failed: nonce too low', {
        code: -32000,
      }),
      refused(
        'insufficientFunds',
        'err: insufficient funds for gas * price + value: address 0x29bD48E4cB7562D660506Ff940365a76A8d407E3 have 12783493798488801 want 825000000000000000 (supplied gas 550000000)',
        { code: -32000 },
      ),
      counted('gasLimit', 'err: intrinsic gas too low: have 0, want 21000 (supplied gas 0)', {
        code: -32000,
      }),
      accepted('alreadyKnown', 'rpc error: code = Unknown desc = already known', { code: -32603 }),
      counted('invalid', 'rpc error: code = InvalidArgument desc = invalid sender', { code: -32603 }),
      refused(
        'feeTooLow',
        'failed to send transaction: max fee per gas less than block base fee: address 0x29bD48E4cB7562D660506Ff940365a76A8d407E3, maxFeePerGas: 1, baseFee: 7',
        { code: -32000 },
      ),
      counted(
        'feeCapExceeded',
        'Returned error: tx fee (1.10 ether) exceeds the configured cap (1.00 ether)',
        { code: -32000 },
      ),
    ],
  },
]
