import { checkNames, type Names } from '../../src/errors/checkNames.js'
import { invalid } from '../../src/errors/invalid.js'
import { GETH_LIMITS } from './geth/poolTypes.js'

/** The pool rules of a devnet. */
export type DevnetRules = 'base' | 'geth' | 'anvil'

/** The kind of chain that a devnet imitates. */
export type DevnetMode = 'preconfirmed' | 'fastBlocks' | 'plain'

export const DEVNET_MODES = ['preconfirmed', 'fastBlocks', 'plain'] as const satisfies readonly DevnetMode[]

/** The behaviour of `eth_sendRawTransactionSync` on a devnet. */
export type DevnetSyncSend = 'node' | 'eip7966' | 'missing'

/** Options of a devnet. Every property is optional. */
export type DevnetOptions = {
  /**
   * The kind of chain. It sets the defaults of the other options.
   * - `preconfirmed`: a sealed block every 2 s, and flashblocks every 200 ms under the tag `pending`.
   * - `fastBlocks`: a canonical block every 200 ms, as on Base since its upgrade Denim. Five blocks share a
   *   timestamp. Each block begins with two deposits of type 0x7e. `pending` reads as `latest`, and its
   *   transaction count includes the pool.
   * - `plain`: a sealed block every 2 s, without pre-confirmations.
   * @default 'plain' under `rules: 'geth'` or `'anvil'` without `flashblockMs`, else 'preconfirmed'
   */
  readonly mode?: DevnetMode | undefined
  /**
   * Milliseconds between sealed blocks; timestamps advance by the same step.
   * @default 2000, and 200 under `mode: 'fastBlocks'`
   */
  readonly blockTimeMs?: number | undefined
  /**
   * Milliseconds between flashblocks of `mode: 'preconfirmed'`; divides `blockTimeMs`. If both are equal,
   * each step is sealed at once.
   * @default 200 if that divides `blockTimeMs`, else `blockTimeMs`
   */
  readonly flashblockMs?: number | undefined
  /**
   * Rules of the pool. `base`: `pending` excludes the mempool; geth's error messages; four in-flight
   * transactions for a delegated account. `geth`: a model of geth's pool, which includes the pool in the
   * `pending` count, serves requests in parallel, and drops transactions silently. `anvil`: anvil's own pool,
   * without the rule of 10%.
   * @default 'base', and 'geth' under `mode: 'plain'`
   */
  readonly rules?: DevnetRules | undefined
  /** The chain's id. @default 31337 */
  readonly chainId?: number | undefined
  /** Seed of the random fault decisions. @default 1 */
  readonly seed?: number | undefined
  /** Port on 127.0.0.1; 0 takes a free one. @default 0 */
  readonly port?: number | undefined
  /** URL of a chain whose state the devnet forks. Slower; the accounts are funded there too. */
  readonly forkUrl?: string | undefined
  /**
   * Path of the anvil binary.
   * @default the environment's `ANVIL_PATH`, the package `@foundry-rs/anvil`, then `anvil` on `PATH`
   */
  readonly anvilPath?: string | undefined
  /**
   * `timer` makes blocks and flashblocks periodically; `manual` only when `stepFlashblock` or `seal` is
   * called.
   * @default 'timer'
   */
  readonly mining?: 'timer' | 'manual' | undefined
  /** Number of funded accounts, each with 10,000 ether. @default 10 */
  readonly accounts?: number | undefined
  /** Base fee of the first block, in wei. @default 1000000000n */
  readonly baseFeePerGasWei?: bigint | undefined
  /** Whether the base fee follows EIP-1559 from one sealed block to the next. @default 'eip1559' */
  readonly baseFee?: 'eip1559' | 'constant' | undefined
  /** Gas limit of a sealed block; each flashblock adds an equal share. @default 300000000n */
  readonly gasLimit?: bigint | undefined
  /**
   * Milliseconds of chain time by which the tag `safe` lags behind `latest` at least. The time of the chain
   * is the number of its blocks multiplied by `blockTimeMs`, so that it also advances on a manually stepped
   * chain.
   * @default 120000, and 384000 under `mode: 'plain'`
   */
  readonly safeLagMs?: number | undefined
  /**
   * Milliseconds of chain time between two movements of `safe`. The tag lags by up to this time more than
   * `safeLagMs`.
   * @default 60000, and 384000 under `mode: 'plain'`; `blockTimeMs` if `safeLagMs` is given
   */
  readonly safeStepMs?: number | undefined
  /** Milliseconds of chain time by which the tag `finalized` lags behind `latest` at least. @default 768000 */
  readonly finalizedLagMs?: number | undefined
  /**
   * Milliseconds of chain time between two movements of `finalized`.
   * @default 384000; `blockTimeMs` if `finalizedLagMs` is given
   */
  readonly finalizedStepMs?: number | undefined
  /**
   * Whether blocks carry `timestampMs`, and transactions and logs `blockTimestampMs`: the time of the block in
   * milliseconds. Base omits these fields for pruned blocks.
   * @default true under `mode: 'fastBlocks'`, else false
   */
  readonly timestampMs?: boolean | undefined
  /**
   * The behaviour of `eth_sendRawTransactionSync`. `node`: that of the node of `rules`, which pools a gapped
   * transaction and answers with an error after the timeout. `eip7966`: also the codes of EIP-7966 that no node
   * of `rules` gives: 5 for a transaction that is not ready, and 6 with the expected nonce for a gapped one;
   * neither is pooled. `missing`: the method does not exist. Under `rules: 'anvil'` only `node` and `missing`.
   * @default 'node'
   */
  readonly syncSend?: DevnetSyncSend | undefined
  /**
   * Number of sealed blocks whose state is readable and that `reorg` can remove. anvil keeps a copy of the
   * whole state for each flashblock, about 330 bytes per account, which adds up with thousands of accounts.
   * The state at `safe` and `finalized` is not readable once they are older.
   * @default 70, and 700 under `mode: 'fastBlocks'`
   */
  readonly historyBlocks?: number | undefined
  /** `forbidden`: `eth_getBlockReceipts` gets HTTP 403, as on Base's public endpoints. @default 'allow' */
  readonly blockReceipts?: 'allow' | 'forbidden' | undefined
  /** Maximum calls in one batch; a larger request is rejected. @default 1000 */
  readonly batchMax?: number | undefined
  /**
   * Under `rules: 'base'` the maximum number of pooled transactions; a further one gets "txpool is full".
   * Under `geth` the maximum number of executable transactions (`--txpool.globalslots`); excess ones are
   * dropped silently. Not used under `anvil`.
   * @default 20000, and geth's 5120 under `rules: 'geth'`
   */
  readonly poolMax?: number | undefined
}

const NAMES = {
  rules: true,
  mode: true,
  mining: true,
  blockTimeMs: true,
  flashblockMs: true,
  chainId: true,
  seed: true,
  port: true,
  forkUrl: true,
  anvilPath: true,
  accounts: true,
  baseFeePerGasWei: true,
  baseFee: true,
  gasLimit: true,
  safeLagMs: true,
  safeStepMs: true,
  finalizedLagMs: true,
  finalizedStepMs: true,
  timestampMs: true,
  syncSend: true,
  historyBlocks: true,
  blockReceipts: true,
  batchMax: true,
  poolMax: true,
} satisfies Names<DevnetOptions>

type Defined<t> = { [k in keyof t]-?: Exclude<t[k], undefined> }

export type DevnetSettings = Defined<Omit<DevnetOptions, 'forkUrl' | 'anvilPath'>> & {
  readonly forkUrl: string | undefined
  readonly anvilPath: string | undefined
  readonly flashblocksPerBlock: number
}

// Source of the lags. OP stack: the batcher submits every minute or so, and `finalized` follows the
// finalized L1 block, which moves once per epoch of 384 s and lags by two epochs. Ethereum: `safe` is the
// justified checkpoint, one epoch behind.
const EPOCH_MS = 384_000
const OP_STACK = { safeLagMs: 120_000, safeStepMs: 60_000 } as const
const DEFAULTS = {
  preconfirmed: { blockTimeMs: 2_000, rules: 'base', historyBlocks: 70, ...OP_STACK },
  fastBlocks: { blockTimeMs: 200, rules: 'base', historyBlocks: 700, ...OP_STACK },
  plain: {
    blockTimeMs: 2_000,
    rules: 'geth',
    historyBlocks: 70,
    safeLagMs: EPOCH_MS,
    safeStepMs: EPOCH_MS,
  },
} as const
const FLASHBLOCK_MS = 200

/** Fills in the defaults. @throws TxlaneError `INVALID` that names the option. */
export function settingsOf(options: DevnetOptions): DevnetSettings {
  const mode = modeOf(options)
  const defaults = DEFAULTS[mode]
  const rules = oneOf('rules', options.rules ?? defaults.rules, ['base', 'geth', 'anvil'])
  const blockTimeMs = whole('blockTimeMs', options.blockTimeMs, defaults.blockTimeMs, 1)
  const flashblockMs = flashblockOf(mode, blockTimeMs, options.flashblockMs)
  checkNames('options', options, NAMES)
  // A tag with a given lag moves with each block.
  const stepMs = (lagMs: number | undefined, fallback: number) =>
    lagMs === undefined ? fallback : blockTimeMs
  return {
    rules,
    mode,
    mining: oneOf('mining', options.mining ?? 'timer', ['timer', 'manual']),
    blockTimeMs,
    flashblockMs,
    flashblocksPerBlock: blockTimeMs / flashblockMs,
    chainId: whole('chainId', options.chainId, 31_337, 1),
    seed: whole('seed', options.seed, 1, 0),
    port: whole('port', options.port, 0, 0),
    forkUrl: options.forkUrl,
    anvilPath: options.anvilPath,
    accounts: whole('accounts', options.accounts, 10, 0),
    baseFeePerGasWei: options.baseFeePerGasWei ?? 1_000_000_000n,
    baseFee: options.baseFee ?? 'eip1559',
    gasLimit: options.gasLimit ?? 300_000_000n,
    safeLagMs: whole('safeLagMs', options.safeLagMs, defaults.safeLagMs, 0),
    safeStepMs: whole('safeStepMs', options.safeStepMs, stepMs(options.safeLagMs, defaults.safeStepMs), 1),
    finalizedLagMs: whole('finalizedLagMs', options.finalizedLagMs, 2 * EPOCH_MS, 0),
    finalizedStepMs: whole(
      'finalizedStepMs',
      options.finalizedStepMs,
      stepMs(options.finalizedLagMs, EPOCH_MS),
      1,
    ),
    timestampMs: options.timestampMs ?? mode === 'fastBlocks',
    syncSend: syncSendOf(options.syncSend ?? 'node', rules),
    historyBlocks: whole('historyBlocks', options.historyBlocks, defaults.historyBlocks, 1),
    blockReceipts: options.blockReceipts ?? 'allow',
    batchMax: whole('batchMax', options.batchMax, 1_000, 1),
    poolMax: whole('poolMax', options.poolMax, rules === 'geth' ? GETH_LIMITS.globalSlots : 20_000, 1),
  }
}

function modeOf({ mode, rules, flashblockMs }: DevnetOptions): DevnetMode {
  const isPlain = rules !== undefined && rules !== 'base' && flashblockMs === undefined
  return oneOf('mode', mode ?? (isPlain ? 'plain' : 'preconfirmed'), DEVNET_MODES)
}

function flashblockOf(mode: DevnetMode, blockTimeMs: number, given: number | undefined): number {
  const fallback = mode === 'preconfirmed' && blockTimeMs % FLASHBLOCK_MS === 0 ? FLASHBLOCK_MS : blockTimeMs
  const flashblockMs = whole('flashblockMs', given, fallback, 1)
  if (blockTimeMs % flashblockMs !== 0) {
    throw invalid('flashblockMs', flashblockMs, `a divisor of blockTimeMs (${blockTimeMs})`)
  }
  if (mode !== 'preconfirmed' && flashblockMs !== blockTimeMs) {
    throw invalid('flashblockMs', flashblockMs, `left out: mode '${mode}' has no flashblocks`)
  }
  return flashblockMs
}

function syncSendOf(syncSend: DevnetSyncSend, rules: DevnetRules): DevnetSyncSend {
  const allowed =
    rules === 'anvil' ? (['node', 'missing'] as const) : (['node', 'eip7966', 'missing'] as const)
  return oneOf('syncSend', syncSend, allowed)
}

function oneOf<t extends string>(name: string, value: t, allowed: readonly t[]): t {
  if (!allowed.includes(value)) {
    throw invalid(name, value, `one of ${allowed.map((one) => `'${one}'`).join(', ')}`)
  }
  return value
}

function whole(name: string, value: number | undefined, fallback: number, min: number): number {
  const used = value ?? fallback
  if (!Number.isSafeInteger(used) || used < min)
    throw invalid(name, value, `a whole number of at least ${min}`)
  return used
}
