import type { Logger, Tx, TxRecord } from '../types/index.js'
import type { Store } from '../types/store.js'

/**
 * A stage that an outbox can deliver. `sealed`: a sealed block contains the transaction. `settled`: that
 * block is `lossDepth` deep, so that the outcome is certain. `finalized`: the transaction is beyond every
 * reorg. `failed`, `cancelled`, `superseded`: the transaction ended without execution. Stages before `sealed`
 * are not in the store when they are reached; the events of a sender report them, without a guarantee.
 */
export type OutboxStage = 'sealed' | 'settled' | 'finalized' | 'failed' | 'cancelled' | 'superseded'

/** A delivered stage: one of the outbox stages, or `reorged`, which withdraws the previous one. */
export type DeliveryStage = OutboxStage | 'reorged'

/** One delivery: a stage of one transaction. */
export type Delivery = {
  /** Identifies the delivery. It is the same for every repetition, so that a receiver can drop duplicates. */
  key: string
  /** The stage that the transaction has reached; `reorged` withdraws the stage delivered before it. */
  stage: DeliveryStage
  /** The position among all deliveries of this transaction under this name, from 1. A gap has no meaning. */
  number: number
  /** The number of this attempt, from 1. */
  attempt: number
  /** The current state of the transaction, which may be further than `stage`. */
  tx: TxRecord
}

/** The second argument of a handler. */
export type DeliveryContext = {
  /** Aborted after `timeoutMs`, or when another process delivers. The result of the call is ignored then. */
  signal: AbortSignal
}

/**
 * Handles a delivery. It is accepted once the promise resolves. If the handler rejects or throws, the
 * delivery is repeated.
 */
export type DeliveryHandler = (delivery: Delivery, context: DeliveryContext) => unknown

/** Finds transactions and reads their receipts: a sender or a pool. */
export type ReceiptSource = {
  /** As `get` of a sender. */
  get(id: string): Promise<Pick<Tx, 'wait' | 'toJSON'> | undefined>
}

/** The options of `createOutbox`. */
export type OutboxOptions = {
  /**
   * The store of the senders whose transactions are delivered. With a store that does not survive the
   * process, pending deliveries are lost with it.
   */
  store: Store
  /**
   * The name of the outbox in the store: 1 to 100 characters. Processes with the same name share the work,
   * and must have the same options. Outboxes with different names each deliver everything.
   */
  name: string
  /** The handler that gets each delivery. */
  onStage: DeliveryHandler
  /** The stages to deliver. `reorged` is always delivered. @default all but `settled` */
  stages?: readonly OutboxStage[] | undefined
  /**
   * The start of a name that the store does not know yet: with changes from `now` on, or with the `oldest`
   * transaction in the store. @default 'now'
   */
  from?: 'now' | 'oldest' | undefined
  /** If given, only transactions of the chain with this id are delivered. @default all chains in the store */
  chainId?: number | undefined
  /**
   * Reads the receipt of an executed transaction whose record has no `status`, before the delivery: the
   * sender or the pool, or a function that picks one. If no endpoint has the receipt (`NO_RECEIPT`), the
   * delivery is made without it. @default no receipt is read, and `status` is missing if no caller waited for
   * the transaction
   */
  receipts?: ReceiptSource | ((tx: TxRecord) => ReceiptSource | undefined) | undefined
  /**
   * Maximum number of concurrent handler calls, from 1 to 1,000. The groups of the transactions take turns.
   * Retries get at most half of the calls, but at least one. A group whose last delivery failed gets two
   * calls, and all such groups together half. @default 8
   */
  concurrency?: number | undefined
  /**
   * Milliseconds that a handler call may take. After that it has failed, and its `signal` aborts.
   * @default 30_000
   */
  timeoutMs?: number | undefined
  /** Milliseconds until the first retry; doubled with each further one. @default 1_000 */
  retryMinMs?: number | undefined
  /** Maximum milliseconds between two tries. A `Retry-After` may ask for more. @default 300_000 */
  retryMaxMs?: number | undefined
  /**
   * Number of tries after which a delivery is given up; `snapshot().stopped` counts it. @default unlimited
   */
  triesMax?: number | undefined
  /**
   * Gets a line if deliveries keep failing, if one is given up, and if the store fails. `false` disables
   * this. @default the console gets a line for each delivery that is given up
   */
  logger?: Logger | false | undefined
}

/** A failing delivery. */
export type FailingDelivery = {
  /** The id of the transaction. */
  id: string
  /** The chain id of the transaction. */
  chainId: number
  /** The stage to deliver. */
  stage: DeliveryStage
  /** The number of failed tries. */
  tries: number
  /** The reason of the last failure: a sentence without URLs and secrets, of at most 500 characters. */
  reason: string
  /** The time of the first failure, as ISO 8601. */
  since: string
  /** True if the delivery was given up, and is not retried automatically. */
  isStopped: boolean
}

/** The state of an outbox. */
export type OutboxSnapshot = {
  /** The name from the options. */
  name: string
  /** True if this process delivers. Of several processes with one name, one does. */
  delivers: boolean
  /** True if any process delivers. */
  isHeld: boolean
  /** The number of pending deliveries, including failing ones. */
  waiting: number
  /** The number of deliveries that were given up. */
  stopped: number
  /** The number of accounts with unread changes. If it stays above 0, `waiting` is at its limit of 10,000. */
  behind: number
  /** The deliveries that fail or were given up, longest failing first; at most 100 of each kind. */
  failing: FailingDelivery[]
  /** The reason why this process cannot read or write the store now; missing while it can. */
  trouble?: string
}

/** Delivers the stages of transactions. */
export type Outbox = {
  /**
   * Resolves once the name is in the store: all later changes are delivered. Rejects with `CLOSED` if the
   * outbox is closed before.
   */
  ready(): Promise<void>
  /**
   * The state for all processes, as stored.
   *
   * @throws `STORE`
   */
  snapshot(): Promise<OutboxSnapshot>
  /**
   * Retries deliveries that were given up, and makes deliveries that pause after a failure due at once.
   * Resolves with their number.
   *
   * @throws `LEASE_LOST` if another process delivers, `CLOSED` if the outbox is closed
   */
  retry(): Promise<number>
  /**
   * Starts no more calls, waits for running handlers (at most `timeoutMs`), and releases the name to the next
   * process, which makes the remaining deliveries. The store stays open.
   */
  close(): Promise<void>
}
