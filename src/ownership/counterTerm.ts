import type { CounterEvent, NonceBook } from '../allocator/counter.js'
import type { NonceRequest } from '../allocator/counterReads.js'
import { COUNT_MAX } from '../allocator/countRecords.js'
import { type NonceGeometry, SEQUENCE } from '../allocator/geometry.js'
import { createJournal, type Journal, type JournalBook } from '../allocator/journal.js'
import { createJournalWaits } from '../allocator/journalWaits.js'
import type { NonceSource } from '../allocator/sources.js'
import { IDLE_FOLLOWER } from '../chain/blocks/follower.js'
import { createRest } from '../chain/blocks/rest.js'
import type { TagsWanted } from '../chain/blocks/tags.js'
import type { EndpointPool } from '../chain/endpoints/endpointPool.js'
import type { Environment } from '../chain/environment.js'
import { isTxlaneError, TxlaneError } from '../errors/base.js'
import { createHorizon, type Horizon, settledUpTo } from '../lane/confirmation/depths.js'
import { transition } from '../ledger/transition.js'
import { createRepeats, kindOfError, type Repeats } from '../platform/repeats.js'
import { reportError } from '../platform/reportError.js'
import type { RpcReply } from '../rpc/port.js'
import type { Lease, Store } from '../types/store.js'
import type { OpenOptions } from './open.js'
import { defaultLossDepth } from './recoverLane.js'

/** A nonce source whose counter is in a contract. */
export type ContractSource = NonceSource<number | bigint> & {
  readonly counter: NonNullable<NonceSource['counter']>
  /** @default a sequence */
  readonly geometry?: NonceGeometry<unknown>
}

/** An allocator that uses the counter and gets its events. */
export type CounterUser = {
  emit(event: CounterEvent, count: bigint): void
  fail(error: Error): void
  /** Uses up a count with a payload that does nothing. */
  readonly fill: ((count: bigint) => Promise<unknown>) | undefined
}

/** A counter while this process has its lease. */
export type CounterTerm = {
  readonly lease: Lease
  readonly counter: NonceBook<unknown>
  /** The error of every call after the end of the term. Nothing is assigned or recorded from then on. */
  readonly ended: TxlaneError | undefined
  /**
   * Resolves once all changes up to now are in the store.
   *
   * @throws `LEASE_LOST` or `CLOSED` if the term ends before that
   */
  written(): Promise<void>
  /** No count is out, and those that were used are in blocks at `lossDepth`. */
  readonly isIdle: boolean
  /** Resolves when nothing is left to write. */
  flushed(): Promise<void>
  /** Reads the counter if the last reading may be old, once for all concurrent callers. */
  refresh(): Promise<void>
  /** Reads the counter in any case. `withCode`: see `CounterReads`. */
  look(withCode?: boolean): Promise<void>
  /** Starts polling, which continues as long as counts are in flight. */
  wake(): void
  end(code: 'LEASE_LOST' | 'CLOSED'): void
}

export type CounterTermParts = {
  readonly options: OpenOptions
  readonly source: ContractSource
  readonly environment: Environment
  readonly endpointPool: Pick<EndpointPool, 'chainId' | 'reader' | 'tracker' | 'turns'>
  readonly store: Store
  readonly lease: Lease
  /** Aborted once this process leaves the counter: no endpoint is asked any longer. */
  readonly leaving: AbortSignal
  readonly users: ReadonlySet<CounterUser>
  /** Another process owns the lease. */
  readonly lost: () => void
}

/**
 * Recovers the counter from its records and the chain, in this order, so that no count is assigned before both
 * are known.
 */
export async function recoverCounter(parts: CounterTermParts): Promise<CounterTerm> {
  const { slots } = await parts.store.load(parts.lease)
  const term = createTerm(parts)
  const { counter } = term
  counter.restore(slots)
  try {
    await term.look()
    // Other users may have moved the counter beyond the records, which only a second reading proves.
    if (slots.length > 0) await term.look()
  } catch (error) {
    term.end('CLOSED')
    throw error
  }
  if (counter.pace() !== 'idle') term.wake()
  return term
}

/** Errors of background work. Each user of the counter gets them. */
export function counterErrors(
  users: ReadonlySet<CounterUser>,
  { clock, background = clock }: Environment,
): Repeats<Error> {
  return createRepeats<Error>({
    clock: background,
    kindOf: kindOfError,
    report(error) {
      for (const user of users) user.fail(error)
    },
  })
}

function createTerm(parts: CounterTermParts): CounterTerm {
  const { options, source, environment, lease, users } = parts
  const { clock } = environment
  const depths = depthsOf(parts)
  const filling = new Set<bigint>()
  const errors = counterErrors(users, environment)
  const { createBook } = source.geometry ?? SEQUENCE
  const counter: NonceBook<unknown> = createBook({
    clock,
    limits: options.limits,
    holder: lease.holder,
    report(event, count) {
      for (const user of users) user.emit(event, count)
    },
    finalTo: depths.final,
    fill,
    touched: () => journal.touch(),
  })
  const journal = createCounterJournal(parts, counter, (error) => reportError({ errors }, error))
  const waits = createJournalWaits(journal)
  const following = follow(parts, counter, depths, (error) => reportError({ errors }, error))
  let ended: TxlaneError | undefined

  /** The record precedes the filler, whose payload may be public from then on (P6). */
  function fill(count: bigint): boolean {
    const user = [...users].find((each) => each.fill)
    if (!user || filling.has(count) || filling.size >= options.limits.fillsMax) return user !== undefined
    filling.add(count)
    written()
      .then(() => user.fill!(count))
      .catch((error) => {
        if (error !== ended) reportError({ errors }, error)
      })
      .finally(() => filling.delete(count))
    return true
  }

  function written(): Promise<void> {
    return ended === undefined ? waits.written(true) : Promise.reject(ended)
  }

  return {
    lease,
    counter,
    get ended() {
      return ended
    },
    written,
    get isIdle() {
      return counter.isSettled(depths.settled())
    },
    flushed: () => (counter.hasChanged && ended === undefined ? written() : journal.flushed()),
    ...following,
    end(code) {
      ended = endedError(code, false)
      following.stop()
      counter.stop()
      journal.stop()
      waits.stop((mayBeStored) => (mayBeStored ? endedError(code, true) : (ended as TxlaneError)))
      errors.stop()
    },
  }
}

/** The blocks whose uses of counts no reorg takes back, as those of an account lane. */
type Depths = {
  /** The highest block at `lossDepth`. */
  settled(): number
  /** The highest final block. */
  final(): number
  readonly horizon: Horizon
  /** The tags that these blocks depend on. `lossDepth` may be the tag `safe`. */
  tags(isSettled: boolean): TagsWanted
}

function depthsOf({ options, endpointPool }: CounterTermParts): Depths {
  const { finality, lossDepth = defaultLossDepth(options.client.chain) } = options
  const horizon = createHorizon({ endpointPool, finality })
  const head = () => endpointPool.tracker.head?.number ?? -1
  return {
    settled: () => settledUpTo({ endpointPool, lossDepth }, head()),
    final: () => horizon.upTo(head()),
    horizon,
    tags: (isSettled) => (lossDepth === 'safe' && !isSettled ? 'now' : 'sometime'),
  }
}

function createCounterJournal(
  { environment, endpointPool, store, lease, lost }: CounterTermParts,
  counter: NonceBook<unknown>,
  failed: (error: unknown) => void,
): Journal {
  const { takeChanged, get } = counter
  const book: JournalBook = {
    takeChanged,
    get,
    previewCommit: (nonce, event) => transition(nonce, get(nonce), event).slot,
    get cursor() {
      const { cursor = 0n } = counter.state ?? {}
      return Number(cursor < COUNT_MAX ? cursor : COUNT_MAX)
    },
  }
  return createJournal({
    store,
    lease,
    book,
    clock: environment.clock,
    turns: endpointPool.turns,
    changedTransactions: () => [],
    commandsDoneUpTo: () => 0,
    isSeeding: () => counter.state === undefined,
    // A payload is recorded as it is committed: the journal gets no attempts of its own.
    begin: () => false,
    notCommitted() {},
    onUnknown() {},
    onKnown() {},
    onError: failed,
    onLost: lost,
  })
}

/** Reads the counter at each tick of the chain while counts are in flight, and on request. */
function follow(
  { options, source, environment, endpointPool, leaving: signal }: CounterTermParts,
  counter: NonceBook<unknown>,
  depths: Depths,
  failed: (error: unknown) => void,
): Pick<CounterTerm, 'refresh' | 'look' | 'wake'> & { stop(): void } {
  const { limits } = options
  const { clock } = environment
  const { tracker, chainId } = endpointPool
  const reader = () => endpointPool.reader
  const { createReads } = source.geometry ?? SEQUENCE
  const reads = createReads({ source, reader, chainId, timeoutMs: limits.readTimeoutMs, signal }, counter)
  let readAtMs = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined
  let request: NonceRequest<unknown> | undefined
  let replies: RpcReply[] = []
  let fell = false
  let broken = false

  function take(replies: readonly RpcReply[], { read }: NonceRequest<unknown>, fell?: boolean): boolean {
    const reading = read(replies)
    if (!reading) return false
    counter.take(reading, tracker.head, fell)
    readAtMs = clock.now()
    broken = false
    return true
  }

  const rest = createRest(clock)
  const isSettled = () => counter.isSettled(depths.settled())
  const unfollow = tracker.follow({
    ...IDLE_FOLLOWER,
    address: source.counter.address,
    pace: () => rest.paceOf(counter.pace() === 'block' && isSettled() ? 'rest' : counter.pace()),
    tags: () => (counter.pace() === 'idle' ? 'never' : depths.tags(isSettled())),
    reads() {
      request = reads.request()
      replies = []
      return request.calls.map((call) => ({ call, take: (reply) => void replies.push(reply) }))
    },
    left(block) {
      fell = true
      depths.horizon.left(block)
    },
    async ticked() {
      if (!request || replies.length < request.calls.length) return
      try {
        if (take(replies, request, fell)) fell = false
      } catch (error) {
        // A failed reading is repeated at the next tick. A slot that is not the counter's stays wrong: report it once.
        if (broken || !isTxlaneError(error) || error.code !== 'INVALID') return
        broken = true
        failed(error)
      }
    },
    sealed: async (block) => depths.horizon.joined(block),
  })

  function look(withCode?: boolean): Promise<void> {
    const mine = reads.readUntil(take, withCode).finally(() => {
      if (looking === mine) looking = undefined
    })
    looking = mine
    return mine
  }

  return {
    async refresh() {
      // While counts are in flight every tick reads the counter, and the state in this process is authoritative.
      const ageMs = clock.now() - readAtMs
      const known = counter.pace() === 'cadence' ? Number.isFinite(ageMs) : ageMs < limits.pollIntervalMs
      if (!known || broken) await (looking ?? look())
    },
    look,
    wake: tracker.wake,
    stop: unfollow,
  }
}

/** `mayBeStored`: the store was asked to record the payload, and has not answered. */
function endedError(code: 'LEASE_LOST' | 'CLOSED', mayBeStored: boolean): TxlaneError {
  const cause =
    code === 'CLOSED' ? 'The counter was closed' : 'Another process assigns the nonces of this counter'
  return mayBeStored
    ? new TxlaneError(`${cause} before the store answered: the payload may be recorded. Do not send it.`, {
        code,
        fate: 'inFlight',
      })
    : new TxlaneError(`${cause}; the payload is not recorded: do not send it.`, {
        code,
        fate: 'notExecuted',
      })
}
