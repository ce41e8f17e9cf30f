import { checkNames, type Names } from '../../src/errors/checkNames.js'
import { invalid } from '../../src/errors/invalid.js'
import { GETH_LIMITS } from './geth/poolTypes.js'

/** The pool rules of a devnet. */
export type DevnetRules = 'base' | 'geth' | 'anvil'

/** Options of a devnet. Every property is optional. */
export type DevnetOptions = {
  /** Milliseconds between sealed blocks; timestamps advance by the same step. @default 2000 */
  readonly blockTimeMs?: number | undefined
  /**
   * Milliseconds between flashblocks; divides `blockTimeMs`. If both are equal, the chain has no
   * pre-confirmations: each step is sealed at once.
   * @default 200 under `rules: 'base'`, else `blockTimeMs`
   */
  readonly flashblockMs?: number | undefined
  /**
   * Rules of the pool. `base`: `pending` excludes the mempool; geth's error messages; four in-flight
   * transactions for a delegated account. `geth`: a model of geth's pool, which includes the pool in the
   * `pending` count, serves requests in parallel, and drops transactions silently. `anvil`: anvil's own pool,
   * without the rule of 10%.
   * @default 'base'
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
   * `timer` makes flashblocks periodically; `manual` only when `stepFlashblock` or `seal` is called.
   * @default 'timer'
   */
  readonly mode?: 'timer' | 'manual' | undefined
  /** Number of funded accounts, each with 10,000 ether. @default 10 */
  readonly accounts?: number | undefined
  /** Base fee of the first block, in wei. @default 1000000000n */
  readonly baseFeePerGasWei?: bigint | undefined
  /** Whether the base fee follows EIP-1559 from one sealed block to the next. @default 'eip1559' */
  readonly baseFee?: 'eip1559' | 'constant' | undefined
  /** Gas limit of a sealed block; each flashblock adds an equal share. @default 300000000n */
  readonly gasLimit?: bigint | undefined
  /** Number of sealed blocks by which the tag `safe` lags behind `latest`. @default 2 */
  readonly safeDepth?: number | undefined
  /** Number of sealed blocks by which the tag `finalized` lags behind `latest`. @default 4 */
  readonly finalizedDepth?: number | undefined
  /**
   * Number of sealed blocks whose state is readable and that `reorg` can remove. anvil keeps a copy of the
   * whole state for each flashblock, about 330 bytes per account, which adds up with thousands of accounts.
   * @default 70
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
  safeDepth: true,
  finalizedDepth: true,
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

/** Fills in the defaults. @throws TxlaneError `INVALID` that names the option. */
export function settingsOf(options: DevnetOptions): DevnetSettings {
  const rules = options.rules ?? 'base'
  if (!['base', 'geth', 'anvil'].includes(rules)) throw invalid('rules', rules, "'base', 'geth' or 'anvil'")
  const mode = options.mode ?? 'timer'
  if (mode !== 'timer' && mode !== 'manual') throw invalid('mode', mode, "'timer' or 'manual'")
  const blockTimeMs = whole('blockTimeMs', options.blockTimeMs, 2_000, 1)
  const flashDefault = rules === 'base' && blockTimeMs % 200 === 0 ? 200 : blockTimeMs
  const flashblockMs = whole('flashblockMs', options.flashblockMs, flashDefault, 1)
  if (blockTimeMs % flashblockMs !== 0) {
    throw invalid('flashblockMs', flashblockMs, `a divisor of blockTimeMs (${blockTimeMs})`)
  }
  checkNames('options', options, NAMES)
  return {
    rules,
    mode,
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
    safeDepth: whole('safeDepth', options.safeDepth, 2, 0),
    finalizedDepth: whole('finalizedDepth', options.finalizedDepth, 4, 0),
    historyBlocks: whole('historyBlocks', options.historyBlocks, 70, 1),
    blockReceipts: options.blockReceipts ?? 'allow',
    batchMax: whole('batchMax', options.batchMax, 1_000, 1),
    poolMax: whole('poolMax', options.poolMax, rules === 'geth' ? GETH_LIMITS.globalSlots : 20_000, 1),
  }
}

function whole(name: string, value: number | undefined, fallback: number, min: number): number {
  const used = value ?? fallback
  if (!Number.isSafeInteger(used) || used < min)
    throw invalid(name, value, `a whole number of at least ${min}`)
  return used
}
