import PQueue from 'p-queue'
import { type Counter, type CounterEvent, createCounter } from '../allocator/counter.js'
import { type CounterReading, type CounterRequest, createCounterReads } from '../allocator/counterReads.js'
import type { NonceSource } from '../allocator/sources.js'
import { isTxlaneError } from '../errors/base.js'
import type { RpcReply } from '../rpc/port.js'
import { createEmitter, type Emitter } from './emitter.js'
import { defaultStore, type Environment, identityOf } from './environment.js'
import type { Hub } from './hub.js'
import { holdHub, type OpenOptions } from './open.js'
import { type Held, hold } from './registry.js'

/** A source that counts in a contract. */
export type ContractSource = NonceSource<number | bigint> & {
  readonly counter: NonNullable<NonceSource['counter']>
}

/** Uses up a count with a payload that does nothing. */
export type CountFiller = (count: bigint) => Promise<unknown>

export type CounterEvents = Record<CounterEvent, bigint> & { error: Error }

/** What outlives who holds it: counts that are out stay out, for whoever opens the same counter next. */
type Books = {
  readonly counter: Counter
  readonly events: Emitter<CounterEvents>
  readonly fillers: Set<CountFiller>
}

/** A counter in this process, shared by every allocator of the same contract, slot, chain and store. */
export type CounterLane = Books & {
  readonly chainId: number
  /** Reads the counter where what is known of it may be old, once for all who ask at the same time. */
  refresh(): Promise<void>
  /** Reads it in any case. */
  look(): Promise<void>
  /** Goes on looking by itself, for as long as something is out. */
  wake(): void
  release(): Promise<void>
}

export async function openCounter(
  options: OpenOptions,
  source: ContractSource,
  environment: Environment,
): Promise<CounterLane> {
  const { shared } = environment
  const probed = await holdHub(options, environment)
  const { chainId, genesisHash } = probed.value
  const { address, slot } = source.counter
  const store = identityOf(shared, options.store ?? defaultStore(shared))
  const name = `${chainId}:${genesisHash}:${address}/${slot}@${store}`
  try {
    const held = await hold(shared.lanes, name, async () => {
      const hub = await holdHub(options, environment)
      const books = (shared.counters.get(name) ?? createBooks(options, environment)) as Books
      return begin(options, source, environment, books, hub)
    })
    return {
      ...held.value,
      release: () =>
        held.release(async () => {
          const { counter, stop } = held.value
          counter.stop()
          if (counter.pace() === 'idle') shared.counters.delete(name)
          else shared.counters.set(name, held.value)
          await stop()
        }),
    }
  } finally {
    await probed.release(() => probed.value.stop())
  }
}

function createBooks({ logger, limits }: OpenOptions, { clock }: Environment): Books {
  const events = createEmitter<CounterEvents>((error) => logger?.error?.({ error }, 'a listener threw'))
  const fillers = new Set<CountFiller>()
  const filling = new Set<bigint>()
  const fills = new PQueue({ concurrency: limits.fillsMax })

  /** One filler is enough; one that fails is asked again when the count is due again. */
  function fill(count: bigint): boolean {
    const [filler] = fillers
    if (filler === undefined) return false
    if (filling.has(count)) return true
    filling.add(count)
    fills
      .add(() => filler(count))
      .catch((error: Error) => events.emit('error', error))
      .finally(() => filling.delete(count))
    return true
  }

  return { counter: createCounter({ clock, limits, tell: events.emit, fill }), events, fillers }
}

function begin(
  { limits }: OpenOptions,
  source: ContractSource,
  { clock }: Environment,
  books: Books,
  hub: Held<Hub>,
): Omit<CounterLane, 'release'> & { stop(): Promise<void> } {
  const { counter, events } = books
  const { tracker, reader, chainId } = hub.value
  const { port, profile } = reader
  const reads = createCounterReads({ source, port, profile, timeoutMs: limits.readTimeoutMs })
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined
  let request: CounterRequest | undefined
  let replies: RpcReply[] = []
  let fell = false
  let broken = false

  function take(reading: CounterReading, fell?: boolean): void {
    counter.take(reading, tracker.head?.number ?? 0, fell)
    lookedAtMs = clock.now()
    broken = false
  }

  const unfollow = tracker.follow({
    address: source.counter.address,
    pace: counter.pace,
    tags: () => ({ safe: false, finalized: false }),
    wantsBalance: () => false,
    reads() {
      request = reads.request()
      replies = []
      return request.calls.map((call) => ({ call, take: (reply) => void replies.push(reply) }))
    },
    sealed() {},
    left() {
      fell = true
    },
    preconfirmed() {},
    observed() {},
    counts() {},
    balance() {},
    ticked() {
      if (request === undefined || replies.length < request.calls.length) return
      try {
        const reading = request.read(replies)
        if (reading) take(reading, fell)
        fell &&= reading === undefined
      } catch (error) {
        // What was not answered is asked again at the next tick; a slot that is not the counter's stays wrong.
        if (broken || !isTxlaneError(error) || error.code !== 'INVALID') return
        broken = true
        events.emit('error', error)
      }
    },
    unreachable() {},
    broken() {},
  })
  counter.resume()
  if (counter.pace() !== 'idle') tracker.wake()

  function look(): Promise<void> {
    const mine = reads.look().then((reading) => take(reading))
    looking = mine
    const over = () => {
      if (looking === mine) looking = undefined
    }
    mine.then(over, over)
    return mine
  }

  return {
    ...books,
    chainId,
    async refresh() {
      // While counts are out its own books are the allocator, and every tick reads the counter.
      const known = counter.pace() === 'cadence' || clock.now() - lookedAtMs < limits.pollIntervalMs
      if (!known || broken || counter.state === undefined) await (looking ?? look())
    },
    look,
    wake: tracker.wake,
    async stop() {
      unfollow()
      await hub.release(() => hub.value.stop())
    },
  }
}
