import type { Logger, Tx, TxRecord } from '../types/index.js'
import type { Store } from '../types/store.js'

/**
 * A stage that an outbox can tell. `sealed`: a sealed block has the transaction. `settled`: that block is `lossDepth` deep,
 * so that the outcome is known. `finalized`: the transaction is beyond every reorg. `failed`, `cancelled`, `superseded`:
 * the transaction ended without execution. Stages before `sealed` are not in the store at the time that they are reached:
 * the events of a sender tell them, without a guarantee.
 */
export type OutboxStage = 'sealed' | 'settled' | 'finalized' | 'failed' | 'cancelled' | 'superseded'

/** What is told: one of the stages, or `reorged`: what was told before is not so any more. */
export type DeliveryStage = OutboxStage | 'reorged'

/** One piece of news of one transaction. */
export type Delivery = {
  /** Names this piece of news. It is the same each time the news is told: a receiver that has seen it leaves it out. */
  key: string
  /** What the transaction has reached; `reorged` takes back what was told before it. */
  stage: DeliveryStage
  /** The place among all news of this transaction under this name, from 1. A gap means nothing. */
  number: number
  /** How often this news was told, this time counted, from 1. */
  attempt: number
  /** The transaction as it is now: it may be further than `stage`. */
  tx: TxRecord
}

/** What a handler is given beside the delivery. */
export type DeliveryContext = {
  /** Aborted when `timeoutMs` is over, or another process delivers: the result of the call is not looked at any more. */
  signal: AbortSignal
}

/** Takes a delivery. It is accepted once the promise resolves; a handler that rejects, or throws, gets it again. */
export type DeliveryHandler = (delivery: Delivery, context: DeliveryContext) => unknown

/** Finds transactions and reads their receipts: a sender or a pool. */
export type ReceiptSource = {
  /** As `get` of a sender. */
  get(id: string): Promise<Pick<Tx, 'wait' | 'toJSON'> | undefined>
}

/** What `createOutbox` takes. */
export type OutboxOptions = {
  /** The store of the senders whose transactions are told. One that does not outlive the process loses what waits. */
  store: Store
  /**
   * Names the outbox in the store: 1 to 100 characters. Processes with the same name share the work, and must be given
   * the same options; outboxes with different names each tell everything.
   */
  name: string
  /** Gets each delivery. */
  onStage: DeliveryHandler
  /** What is told. `reorged` comes by itself. @default all but `settled` */
  stages?: readonly OutboxStage[] | undefined
  /**
   * Where a name begins that the store does not know yet: with what changes from `now` on, or with the `oldest`
   * transaction that is kept. @default 'now'
   */
  from?: 'now' | 'oldest' | undefined
  /** Only transactions of the chain with this id are told. @default those of all chains in the store */
  chainId?: number | undefined
  /**
   * Reads the receipt of an executed transaction whose record has no `status`, before it is told: the sender or the pool, or
   * a function that picks one. Where no endpoint has the receipt (`NO_RECEIPT`) the transaction is told without it. @default
   * no receipt is read, and `status` is missing where nobody has waited for the transaction
   */
  receipts?: ReceiptSource | ((tx: TxRecord) => ReceiptSource | undefined) | undefined
  /**
   * How many handlers run at once, from 1 to 1,000: by turns of the groups of the transactions, at most half of them, and one,
   * for what failed before. A group whose last delivery failed has two of them, and all such groups together half.
   * @default 8
   */
  concurrency?: number | undefined
  /** Milliseconds that a handler has. After that the call has failed, and its `signal` aborts. @default 30_000 */
  timeoutMs?: number | undefined
  /** Milliseconds until a delivery that failed once is tried again; doubled with each try. @default 1_000 */
  retryMinMs?: number | undefined
  /** The longest that a delivery rests between two tries, in milliseconds. A `Retry-After` may ask for more. @default 300_000 */
  retryMaxMs?: number | undefined
  /** After so many tries a delivery is given up: `snapshot().stopped` counts it. @default none: it is tried for ever */
  triesMax?: number | undefined
  /**
   * Gets a line where deliveries keep failing, where one is given up, and where the store fails. Without it the console
   * gets a line for each delivery that is given up. `false` silences it.
   */
  logger?: Logger | false | undefined
}

/** A delivery that fails. */
export type FailingDelivery = {
  /** The id of the transaction. */
  id: string
  /** The chain of the transaction. */
  chainId: number
  /** What is to be told. */
  stage: DeliveryStage
  /** How often it failed. */
  tries: number
  /** Why it failed last: a sentence without URLs and secrets, of at most 500 characters. */
  reason: string
  /** When it failed first, as ISO 8601. */
  since: string
  /** It was given up, and is not tried again by itself. */
  isStopped: boolean
}

/** How an outbox stands. */
export type OutboxSnapshot = {
  /** As in the options. */
  name: string
  /** This process delivers. Of several with one name, one does. */
  delivers: boolean
  /** Some process delivers. */
  isHeld: boolean
  /** How many deliveries are to be made, those that fail among them. */
  waiting: number
  /** How many deliveries were given up. */
  stopped: number
  /** How many accounts have changes that were not looked at yet. More than 0 for long: `waiting` is at its bound of 10,000. */
  behind: number
  /** The deliveries that fail or were given up, the oldest trouble first; at most 100 of each kind. */
  failing: FailingDelivery[]
  /** Why this process does not read or write the store now; missing while it does. */
  trouble?: string
}

/** Tells what became of transactions. */
export type Outbox = {
  /**
   * Resolves once the name is in the store: all that changes after that is told. Rejects with `CLOSED` where the outbox is
   * closed before.
   */
  ready(): Promise<void>
  /** How it stands, for all processes, as the store says. @throws `STORE` */
  snapshot(): Promise<OutboxSnapshot>
  /**
   * Takes up what was given up, and makes what waits after a failure due at once. Resolves with how many those are.
   *
   * @throws `LEASE_LOST` where another process delivers, `CLOSED` where the outbox is closed
   */
  retry(): Promise<number>
  /**
   * Begins nothing more, waits for the handlers that run (for `timeoutMs` at most) and gives the name to the next process.
   * What was not accepted is told there. The store stays open.
   */
  close(): Promise<void>
}
