import { type Counter, type CounterEvent, createCounter } from '../../allocator/counter.js'
import { type CounterRequest, createCounterReads } from '../../allocator/counterReads.js'
import type { NonceSource } from '../../allocator/sources.js'
import { chainOf } from '../../chain/endpoints/chainOf.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { defaultStore, type Environment, identityOf } from '../../chain/environment.js'
import { isTxlaneError } from '../../errors/base.js'
import { holdEndpointPool, type OpenOptions } from '../../ownership/open.js'
import { type Held, hold } from '../../platform/registry.js'
import type { RpcReply } from '../../rpc/port.js'
import { chainName } from '../../types/store.js'

/** A nonce source whose counter is in a contract. */
export type ContractSource = NonceSource<number | bigint> & {
  readonly counter: NonNullable<NonceSource['counter']>
}

/** An allocator that uses the counter and gets its events. */
export type CounterUser = {
  emit(event: CounterEvent, count: bigint): void
  fail(error: unknown): void
  /** Uses up a count with a payload that does nothing. */
  readonly fill: ((count: bigint) => Promise<unknown>) | undefined
}

/**
 * The state of a counter, which outlives its allocators: counts in flight stay taken for the next one that opens it.
 */
type Books = { readonly counter: Counter; readonly users: Set<CounterUser> }

/** A counter in this process, shared by every allocator of the same contract, slot, chain and store. */
export type CounterLane = Books & {
  readonly chainId: number
  /** Reads the counter if the last reading may be old, once for all concurrent callers. */
  refresh(): Promise<void>
  /** Reads the counter in any case. `withCode`: see `CounterReads`. */
  look(withCode?: boolean): Promise<void>
  /** Starts polling, which continues as long as counts are in flight. */
  wake(): void
  stop(): Promise<void>
}

export async function openCounter(
  options: OpenOptions,
  source: ContractSource,
  environment: Environment,
): Promise<Held<CounterLane>> {
  const { shared } = environment
  const probed = await holdEndpointPool(options, environment)
  const { address, slot } = source.counter
  const store = options.store ?? defaultStore(shared)
  try {
    const chain = chainName(await chainOf(probed.value, store))
    const name = `${chain}:${address}/${slot}@${identityOf(shared, store)}`
    return await hold(shared.lanes, name, async () => {
      const endpointPool = await holdEndpointPool(options, environment)
      const books = (shared.counters.get(name) ?? createBooks(options, environment)) as Books
      // Kept from one lane to the next as long as counts are in flight.
      shared.counters.set(name, books)
      const lane = follow(options, source, environment, books, endpointPool)
      return {
        ...lane,
        async stop() {
          if (books.counter.pace() === 'idle') shared.counters.delete(name)
          await lane.stop()
        },
      }
    })
  } finally {
    await probed.release(() => probed.value.stop())
  }
}

function createBooks({ limits }: OpenOptions, { clock }: Environment): Books {
  const users = new Set<CounterUser>()
  const filling = new Set<bigint>()

  function fill(count: bigint): boolean {
    const user = [...users].find((each) => each.fill)
    if (!user || filling.has(count) || filling.size >= limits.fillsMax) return user !== undefined
    filling.add(count)
    user.fill!(count)
      .catch(user.fail)
      .finally(() => filling.delete(count))
    return true
  }

  function emit(event: CounterEvent, count: bigint): void {
    for (const user of users) user.emit(event, count)
  }

  return { counter: createCounter({ clock, limits, report: emit, fill }), users }
}

function follow(
  { limits }: OpenOptions,
  source: ContractSource,
  { clock }: Environment,
  books: Books,
  endpointPool: Held<Pick<EndpointPool, 'chainId' | 'reader' | 'stop' | 'tracker'>>,
): CounterLane {
  const { counter, users } = books
  const { tracker, chainId } = endpointPool.value
  const reader = () => endpointPool.value.reader
  const reads = createCounterReads({ source, reader, chainId, timeoutMs: limits.readTimeoutMs })
  const nothing = () => {}
  let readAtMs = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined
  let request: CounterRequest | undefined
  let replies: RpcReply[] = []
  let fell = false
  let broken = false

  function take(replies: readonly RpcReply[], { read }: CounterRequest, fell?: boolean): boolean {
    const reading = read(replies)
    if (!reading) return false
    counter.take(reading, tracker.head?.number ?? 0, fell)
    readAtMs = clock.now()
    broken = false
    return true
  }

  const unfollow = tracker.follow({
    address: source.counter.address,
    pace: counter.pace,
    tags: () => 'never',
    wantsBalance: () => false,
    reads() {
      request = reads.request()
      replies = []
      return request.calls.map((call) => ({ call, take: (reply) => void replies.push(reply) }))
    },
    left() {
      fell = true
    },
    async ticked() {
      if (!request || replies.length < request.calls.length) return
      try {
        if (take(replies, request, fell)) fell = false
      } catch (error) {
        // A failed reading is repeated at the next tick. A slot that is not the counter's stays wrong: report it once.
        if (broken || !isTxlaneError(error) || error.code !== 'INVALID') return
        broken = true
        for (const user of users) user.fail(error)
      }
    },
    sealed: async () => {},
    preconfirmed: nothing,
    observed: nothing,
    counts: nothing,
    balance: nothing,
    unreachable: nothing,
    broken: nothing,
  })
  counter.resume()
  if (counter.pace() !== 'idle') tracker.wake()

  function look(withCode?: boolean): Promise<void> {
    const mine = reads.readUntil(take, withCode).finally(() => {
      if (looking === mine) looking = undefined
    })
    looking = mine
    return mine
  }

  return {
    ...books,
    chainId,
    async refresh() {
      // While counts are in flight every tick reads the counter, and the state in this process is authoritative.
      const ageMs = clock.now() - readAtMs
      const known = counter.pace() === 'cadence' ? Number.isFinite(ageMs) : ageMs < limits.pollIntervalMs
      if (!known || broken) await (looking ?? look())
    },
    look,
    wake: tracker.wake,
    async stop() {
      counter.stop()
      unfollow()
      await endpointPool.release(() => endpointPool.value.stop())
    },
  }
}
