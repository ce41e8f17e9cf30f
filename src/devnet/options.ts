import { checkNames, type Names } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { GETH_LIMITS } from './geth/poolTypes.js'

/** Whose pool a devnet has. */
export type DevnetRules = 'base' | 'geth' | 'anvil'

/** Every property may be left out. */
export type DevnetOptions = {
  /** Milliseconds from one sealed block to the next; also the steps of the timestamps. @default 2000 */
  readonly blockTimeMs?: number | undefined
  /**
   * Milliseconds from one flashblock to the next; divides `blockTimeMs`. Equal to it, there are no
   * pre-confirmations: each step is sealed at once. @default 200 under `rules: 'base'`, else `blockTimeMs`
   */
  readonly flashblockMs?: number | undefined
  /**
   * Whose pool this is. `base`: `pending` leaves the mempool out; geth's words, four transactions in flight for a
   * delegated account. `geth`: the model of geth's pool, which counts in `pending`, works on requests side by side and
   * drops in silence. `anvil`: anvil's own pool, without the rule of 10%. @default 'base'
   */
  readonly rules?: DevnetRules | undefined
  /** The chain's id. @default 31337 */
  readonly chainId?: number | undefined
  /** What faults are drawn from. @default 1 */
  readonly seed?: number | undefined
  /** Port on 127.0.0.1; 0 takes a free one. @default 0 */
  readonly port?: number | undefined
  /** Starts from another chain's state. Slower; the accounts are funded there too. */
  readonly forkUrl?: string | undefined
  /** The program that executes. @default the environment's `ANVIL_PATH`, the package `@foundry-rs/anvil`, then `anvil` on `PATH` */
  readonly anvilPath?: string | undefined
  /** `timer` makes flashblocks by itself; `manual` only when `stepFlashblock` or `seal` is called. @default 'timer' */
  readonly mode?: 'timer' | 'manual' | undefined
  /** How many funded accounts, each with 10,000 ether. @default 10 */
  readonly accounts?: number | undefined
  /** Of the first block, in wei. @default 1000000000n */
  readonly baseFeePerGasWei?: bigint | undefined
  /** Whether the base fee follows EIP-1559 from sealed block to sealed block. @default 'eip1559' */
  readonly baseFee?: 'eip1559' | 'constant' | undefined
  /** Gas of a sealed block; each flashblock opens an equal share. @default 300000000n */
  readonly gasLimit?: bigint | undefined
  /** How many sealed blocks the tag `safe` lags behind `latest`. @default 2 */
  readonly safeDepth?: number | undefined
  /** Likewise `finalized`. @default 4 */
  readonly finalizedDepth?: number | undefined
  /**
   * Sealed blocks whose state can be read, and taken off by `reorg`. anvil keeps a copy of the whole state for each
   * flashblock, some 330 bytes an account: with thousands of accounts it adds up. @default 70
   */
  readonly historyBlocks?: number | undefined
  /** `forbidden`: `eth_getBlockReceipts` gets HTTP 403, as on Base's public endpoints. @default 'allow' */
  readonly blockReceipts?: 'allow' | 'forbidden' | undefined
  /** Calls in one request; above it the request is refused. @default 1000 */
  readonly batchMax?: number | undefined
  /**
   * Under `rules: 'base'` the transactions that the pool holds; above it "txpool is full". Under `geth` the executable
   * transactions that it keeps (`--txpool.globalslots`); those above it are dropped in silence. Not under `anvil`.
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

/** Fills in the defaults. @throws TxlaneError `INVALID` naming the option. */
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
