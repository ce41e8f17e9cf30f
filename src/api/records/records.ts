import type { Address, Chain, FeeValues, Hash } from 'viem'
import { isTxlaneError, TxlaneError } from '../../errors/base.js'
import { attemptsOf } from '../../lane/transaction/attempts.js'
import { assertChangeable, endedResult } from '../../lane/transaction/cancelOutcome.js'
import { refresh } from '../../lane/transaction/changes.js'
import { INSPECT } from '../../lane/transaction/printedAs.js'
import { printedTx, recordOf } from '../../lane/transaction/record.js'
import { fromStored } from '../../lane/transaction/stored.js'
import { fateOf, type Transaction } from '../../lane/transaction/transaction.js'
import { txError } from '../../lane/transaction/txError.js'
import { RAW, rawOf, transactionOf } from '../../lane/transaction/txInternals.js'
import { interruptible } from '../../lane/transaction/waiting.js'
import { storedReason } from '../../lane/transaction/waitingFor.js'
import { askedBy, listedLanes, listStored } from '../../ownership/lookup.js'
import type { OpenLane } from '../../ownership/open.js'
import type { Clock } from '../../platform/clock.js'
import type {
  CancelOptions,
  CancelResult,
  Landed,
  ListOptions,
  RecordPage,
  SendOptions,
  Tx,
  TxRequest,
  WaitOptions,
  WaitStage,
} from '../../types/index.js'
import type { LaneKey, Store, StoredTransaction } from '../../types/store.js'
import { ownOptions, ownRequest } from '../../validate/own.js'
import { TRANSACTION } from '../../validate/stageOrder.js'
import { checkCancel, checkWait } from '../../validate/validate.js'

/** The part of an open lane that answers questions about records. */
type ReadableLane = Pick<OpenLane, 'find' | 'key' | 'list'>

/** Reads the records in the store while the lane is not open yet, which takes until an endpoint answers. */
export type Records = {
  /** Waits for the lane for at most one second, because the lane may have newer state than the store. */
  find(by: string | { hash: Hash }, opening: Promise<ReadableLane>): Promise<Tx | undefined>
  list(
    options: ListOptions,
    opening: Promise<ReadableLane>,
    accounts?: readonly Address[],
  ): Promise<RecordPage>
  /** Connects all handles that were found before to the lane, which is open now. */
  opened(lane: ReadableLane): void
}

/** A healthy node has opened the lane by then. Tries with a slow or silent node continue meanwhile. */
const MOMENT_MS = 1_000
/** The number of handles that are kept, the newest ones. An older handle opens the lane by itself when it is used. */
const HANDLES_MAX = 10_000

export function createRecords(parts: {
  readonly chain: Chain
  readonly address: Address
  readonly store: Store
  readonly clock: Clock
  readonly open: () => Promise<ReadableLane>
}): Records {
  const { chain, store, clock, open } = parts
  const address = parts.address.toLowerCase() as Address
  const handles = new Map<string, RecordHandle>()

  /** The lane; `undefined` if it is not open within a second, or if no endpoint answers. */
  function soonOpen(opening: Promise<ReadableLane>): Promise<ReadableLane | undefined> {
    return new Promise((resolve, reject) => {
      const cancel = clock.setTimer(() => resolve(undefined), MOMENT_MS)
      opening
        .then(resolve, (error: unknown) => (isOutage(error) ? resolve(undefined) : reject(error)))
        .finally(cancel)
    })
  }

  /** The key of the lane, from the store alone if possible. Undefined if the store has no records of the chain. */
  async function nameOf(opening: Promise<ReadableLane>): Promise<LaneKey | undefined> {
    const [genesisHash, ...others] = await store.chains({ chainId: chain.id })
    if (genesisHash === undefined) return undefined
    // Several chains share the id. Only an endpoint can say on which of them the lane is.
    if (others.length > 0) return (await opening.catch(undecided(chain.id, others.length + 1))).key
    return { chainId: chain.id, genesisHash, address }
  }

  function handleOf(stored: StoredTransaction, key: LaneKey): Tx {
    const known = handles.get(stored.id)
    if (known) {
      known.learn(stored)
      return known
    }
    const handle = new RecordHandle(stored, { clock, open, read: (id) => store.find(key, { id }) })
    const [oldest] = handles.keys()
    if (oldest !== undefined && handles.size >= HANDLES_MAX) handles.delete(oldest)
    handles.set(stored.id, handle)
    return handle
  }

  return {
    async find(by, opening) {
      const lane = await soonOpen(opening)
      if (lane) return lane.find(by)
      const key = await nameOf(opening)
      if (key === undefined) return undefined
      const stored = await store.find(key, askedBy(by))
      return stored && handleOf(stored, key)
    },
    async list(options, opening, accounts = [address]) {
      const lane = await soonOpen(opening)
      if (lane) return lane.list(options, accounts)
      const key = await nameOf(opening)
      if (key === undefined) return { items: [] }
      return listStored(store, listedLanes(key, options, accounts), options)
    },
    opened(lane) {
      for (const handle of handles.values()) void handle.bind(lane).catch(() => {})
      handles.clear()
    },
  }
}

function isOutage(error: unknown): boolean {
  return isTxlaneError(error) && error.code === 'UNREACHABLE'
}

function undecided(chainId: number, chains: number) {
  return (error: unknown): never => {
    if (!isTxlaneError(error) || !isOutage(error)) throw error
    const message = `No endpoint answered. The store keeps ${chains} chains with the id ${chainId}, and only an endpoint can say which of them this is.`
    throw new TxlaneError(message, { code: 'UNREACHABLE', fate: 'notExecuted', cause: error })
  }
}

type RecordParts = {
  readonly clock: Clock
  /** Tries to open the lane. */
  readonly open: () => Promise<ReadableLane>
  /** Reads the record of the transaction from the store. */
  readonly read: (id: string) => Promise<StoredTransaction | undefined>
}

/**
 * A handle of a transaction from its stored record, while its lane cannot be opened. Calls that need the lane wait for
 * it, or reject with the reason why it cannot be opened. Once the lane is open, every value and call comes from the
 * lane.
 */
class RecordHandle implements Tx {
  readonly #transaction: Transaction
  readonly #parts: RecordParts
  #live: Tx | undefined

  constructor(stored: StoredTransaction, parts: RecordParts) {
    this.#transaction = fromStored(stored)
    this.#parts = parts
  }

  get id() {
    return this.#transaction.id
  }

  get stage() {
    return this.#live?.stage ?? this.#transaction.stage
  }

  get nonce() {
    return this.#live ? this.#live.nonce : this.#transaction.nonce
  }

  get hash() {
    return this.#live ? this.#live.hash : this.#transaction.hash
  }

  get attempts() {
    return this.#live?.attempts ?? (attemptsOf(this.#transaction.record) as Tx['attempts'])
  }

  get waitingFor() {
    return this.#live ? this.#live.waitingFor : storedReason(this.#transaction)
  }

  /** Takes over a newer reading of the record. */
  learn(stored: StoredTransaction): void {
    refresh(this.#transaction, stored)
  }

  /** Connects the handle to the open lane. */
  async bind(lane: Pick<ReadableLane, 'find'>): Promise<Tx> {
    const found = await lane.find(this.id)
    if (found === undefined)
      throw txError(this.#transaction, 'STORE', 'inFlight', 'The store does not know it on this chain.')
    this.#live ??= found
    return this.#live
  }

  async wait(stage: WaitStage = 'sealed', options: WaitOptions = {}): Promise<Landed> {
    checkWait(stage, options)
    const { live, left } = await this.#inTime(options, (isOver) => this.#whenOpen(isOver))
    return live.wait(stage, left)
  }

  /** Waits for the lane within the timeout of the caller. The call of the lane gets the time that is left. */
  async #inTime<options extends CancelOptions>(
    options: options,
    open: (isOver: () => boolean) => Promise<Tx>,
  ): Promise<{ readonly live: Tx; readonly left: options }> {
    const { clock } = this.#parts
    const startedMs = clock.now()
    const transaction = this.#transaction
    let isOver = false
    const live = await interruptible({ clock, transaction, options }, (interrupted) =>
      Promise.race([open(() => isOver), interrupted]),
    ).finally(() => {
      isOver = true
    })
    const { timeoutMs } = options
    if (timeoutMs === undefined) return { live, left: options }
    const leftMs = Math.max(0, timeoutMs - (clock.now() - startedMs))
    return { live, left: { ...options, timeoutMs: leftMs } }
  }

  async cancel(options: CancelOptions = {}): Promise<CancelResult> {
    checkCancel(options)
    if (!this.#live && this.#transaction.endPersisted) return endedResult(this.#transaction)
    const { live, left } = await this.#inTime(options, () => this.#opened())
    return live.cancel(left)
  }

  async replace(asked: TxRequest, options: SendOptions = {}): Promise<Tx> {
    const request = ownRequest(asked)
    const own = ownOptions(options)
    if (!this.#live) assertChangeable(this.#transaction, 'replace')
    return (await this.#opened()).replace(request, own)
  }

  async speedUp(fees?: Partial<FeeValues>): Promise<void> {
    const own = fees && { ...fees }
    if (!this.#live) assertChangeable(this.#transaction, 'bump')
    return (await this.#opened()).speedUp(own)
  }

  toJSON() {
    return this.#live?.toJSON() ?? recordOf(this.#transaction, this.waitingFor)
  }

  [INSPECT](
    _depth?: number,
    ...by: [options?: object, inspect?: (value: object, options?: object) => string]
  ) {
    return printedTx(this.toJSON(), ...by)
  }

  [TRANSACTION]() {
    return transactionOf(this.#live) ?? this.#transaction
  }

  [RAW]() {
    return rawOf(this.#live)
  }

  /** Opens the lane in one try. */
  async #opened(): Promise<Tx> {
    if (this.#live) return this.#live
    try {
      return await this.bind(await this.#parts.open())
    } catch (error) {
      throw this.#aboutTransaction(error)
    }
  }

  /**
   * Tries to open the lane until it succeeds or the wait is over. Throws the failure of a transaction that has ended.
   */
  async #whenOpen(isOver: () => boolean): Promise<Tx> {
    for (;;) {
      const { failure, endPersisted } = this.#transaction
      if (!this.#live && failure && endPersisted) throw failure
      try {
        return await this.#opened()
      } catch (error) {
        if (!isTxlaneError(error) || error.code !== 'UNREACHABLE' || isOver()) throw error
      }
      // Another process may own the lane and write its progress to the store.
      const stored = await this.#parts.read(this.id).catch(() => undefined)
      if (stored) this.learn(stored)
    }
  }

  #aboutTransaction(error: unknown): unknown {
    if (!isTxlaneError(error) || error.tx !== undefined) return error
    const { code, shortMessage } = error
    return txError(this.#transaction, code, fateOf(this.#transaction), shortMessage, error)
  }
}
