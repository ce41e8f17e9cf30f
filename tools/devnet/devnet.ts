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

/**
 * A viem client with wallet and public actions on the gateway: no batching, no retries, no cache, polling
 * every 50 ms.
 */
export type DevnetClient = Client<
  HttpTransport,
  Chain,
  LocalAccount,
  undefined,
  PublicActions<HttpTransport, Chain, LocalAccount> & WalletActions<Chain, LocalAccount>
>

/** A transaction of another wallet with the same key. */
export type ForeignTx = {
  /** Sending account. It must be one of the devnet's accounts, because the devnet needs its key. */
  readonly account: LocalAccount | Address
  /** Nonce of the transaction. @default the account's lowest unused nonce after the newest flashblock */
  readonly nonce?: number | undefined
} & Pick<TransactionRequest, 'to' | 'value' | 'data' | 'gas' | 'maxFeePerGas' | 'maxPriorityFeePerGas'>

/**
 * A local chain with pre-confirmations. anvil provides state, execution and receipts; the gateway provides
 * block numbers, block hashes and the pool.
 *
 * Differences from a real chain:
 * - A sealed block's hash is not the hash of its header.
 * - The deposits of `mode: 'fastBlocks'` are not executed: their contracts have no code, and the transaction
 *   count of their sender stays 0.
 * - The opcodes NUMBER and BLOCKHASH return anvil's numbers and hashes, where each flashblock is a block.
 * - State older than `historyBlocks` is not served.
 * - geth's reservation of the authorities of an EIP-7702 transaction is not modelled.
 */
export type Devnet = AsyncDisposable & {
  /** HTTP URL, on the loopback interface. */
  readonly url: string
  /** WebSocket URL, on the same port. */
  readonly wsUrl: string
  /**
   * URL of anvil itself, without pool rules, faults and renumbering. Mining blocks there breaks the devnet.
   */
  readonly anvilUrl: string
  /** viem's chain object, with `url` as its only endpoint. */
  readonly chain: Chain
  /** Funded accounts. Their keys are public. */
  readonly accounts: readonly LocalAccount[]
  /** A viem client of `url` with one of `accounts`. @default 0 */
  client(accountIndex?: number): DevnetClient
  /** Fault injection, and the log of the faults that occurred. */
  readonly faults: Faults
  /** Counts of the requests and calls so far. */
  readonly stats: DevnetStats
  /** The process id of anvil's launcher, for crash tests. */
  readonly pid: number | undefined
  /**
   * Builds the next flashblock from the transactions in the pool. The flashblock that completes a block
   * (`blockTimeMs / flashblockMs`) stays visible under `pending` until the next step or seal, which seals the
   * block first. On a chain without pre-confirmations it seals a block.
   */
  stepFlashblock(): Promise<void>
  /** Seals the block being built. A block without a flashblock gets one first. */
  seal(): Promise<{ readonly number: bigint; readonly hash: Hex }>
  /** Drops a waiting transaction. Resolves to true if the pool held it. */
  evict(hash: Hex): Promise<boolean>
  /**
   * Removes the newest `depth` sealed blocks and the block being built.
   * @throws TxlaneError `INVALID` when the chain has fewer sealed blocks.
   */
  reorg(depth: number, options?: ReorgOptions): Promise<void>
  /**
   * Signs a transaction and adds it to the pool. It bypasses faults and pool rules, and is picked before all
   * others.
   */
  foreign(transaction: ForeignTx): Promise<Hex>
  /** Transactions that wait in the pool. */
  pool(): Promise<readonly PoolItem[]>
  /** Ends anvil and releases the port. Open requests fail. Calling it again does nothing. */
  stop(): Promise<void>
}
