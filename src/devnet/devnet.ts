import type {
  Address,
  Chain,
  Client,
  Hex,
  HttpTransport,
  LocalAccount,
  PublicActions,
  TransactionRequest,
  WalletActions,
} from 'viem'
import type { ReorgOptions } from './chain/steps.js'
import type { Faults } from './faults/faults.js'
import type { PoolItem } from './pool/pool.js'
import type { DevnetStats } from './serve/exchange.js'

/** viem's wallet and public actions over the gateway: no batching, no retries, no cache, polling every 50 ms. */
export type DevnetClient = Client<
  HttpTransport,
  Chain,
  LocalAccount,
  undefined,
  PublicActions<HttpTransport, Chain, LocalAccount> & WalletActions<Chain, LocalAccount>
>

/** A transaction of another wallet with the same key. */
export type ForeignTx = {
  /** One of the devnet's accounts: its key must be known. */
  readonly account: LocalAccount | Address
  /** At which nonce. @default the account's lowest nonce not used after the newest flashblock */
  readonly nonce?: number | undefined
} & Pick<TransactionRequest, 'to' | 'value' | 'data' | 'gas' | 'maxFeePerGas' | 'maxPriorityFeePerGas'>

/**
 * A local chain with pre-confirmations. State, execution and receipts are anvil's; block numbers, hashes and the
 * pool are the gateway's.
 *
 * Not guaranteed: that a sealed block's hash is the hash of its header; that the opcodes NUMBER and BLOCKHASH show
 * the gateway's numbers and hashes, since they show the child's, where each flashblock is a block; state older than
 * `historyBlocks`; geth's rule that the authorities of an EIP-7702 transaction are reserved.
 */
export type Devnet = AsyncDisposable & {
  /** For HTTP, on the loopback interface. */
  readonly url: string
  /** For WebSocket. */
  readonly wsUrl: string
  /** The child itself, past pool rules, faults and renumbering. Making blocks there breaks the devnet. */
  readonly anvilUrl: string
  /** viem's chain: its id, and `url` as its only endpoint. */
  readonly chain: Chain
  /** Funded, with public keys that anybody knows. */
  readonly accounts: readonly LocalAccount[]
  /** A viem client of `url` with one of `accounts`. @default 0 */
  client(accountIndex?: number): DevnetClient
  /** What goes wrong, and what did. */
  readonly faults: Faults
  /** What was asked so far. */
  readonly stats: DevnetStats
  /** The process id of what runs anvil, for tests of crashes. */
  readonly pid: number | undefined
  /**
   * Makes the next flashblock out of what waits in the pool. The one that completes a block (`blockTimeMs /
   * flashblockMs`) is shown by `pending` until the next step or seal, which seals first. Where each block has one
   * flashblock it is sealed at once.
   */
  stepFlashblock(): Promise<void>
  /** Seals the block being built, with one flashblock made first if it has none. */
  seal(): Promise<{ readonly number: bigint; readonly hash: Hex }>
  /** Drops a waiting transaction. Resolves to whether there was one. */
  evict(hash: Hex): Promise<boolean>
  /**
   * Takes the newest `depth` sealed blocks and the block being built off.
   * @throws TxlaneError `INVALID` when there are not that many.
   */
  reorg(depth: number, options?: ReorgOptions): Promise<void>
  /** Signs and puts in a transaction past the gateway's faults and pool rules, above all tips. */
  foreign(transaction: ForeignTx): Promise<Hex>
  /** What waits in the pool. */
  pool(): Promise<readonly PoolItem[]>
  /** Ends the child and gives up the port. Open requests break. Calling it again does nothing. */
  stop(): Promise<void>
}
