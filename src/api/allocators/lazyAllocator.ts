import type { NonceSource } from '../../allocator/sources.js'
import type { Environment } from '../../chain/environment.js'
import { invalid } from '../../errors/invalid.js'
import { safeError } from '../../errors/redactError.js'
import { createEmitter } from '../../lane/emitter.js'
import type { ContractSource } from '../../ownership/counterTerm.js'
import { createEarlyListeners } from '../../ownership/earlyListeners.js'
import type { OpenOptions } from '../../ownership/open.js'
import { whenLoaded } from '../../platform/lazy.js'
import type { createAccountAllocator } from './accountAllocator.js'
import type { AllocatorInternals, NonceAllocatorParameters } from './allocator.js'
import type { CounterAllocatorEvents, createCounterAllocator } from './counterAllocator.js'
import { closedError, untilEnded } from './errors.js'

/** An allocator whose code is loaded on first use. Listeners may be added before that. */
type Lazy<nonce extends number | bigint> = AllocatorInternals<nonce> & {
  on(event: string, listener: (payload: never) => void): () => void
}

/** The functions of the runtime that an allocator uses. */
type AllocatorRuntime = {
  readonly createAccountAllocator: typeof createAccountAllocator
  readonly createCounterAllocator: typeof createCounterAllocator
}

type Parts<nonce extends number | bigint> = {
  readonly on: Lazy<nonce>['on']
  make(runtime: AllocatorRuntime): AllocatorInternals<nonce>
}

/** An allocator of an account's own nonces, made by the first call that needs it. */
export function createLazyAccountAllocator(options: OpenOptions, environment: Environment): Lazy<number> {
  const early = createEarlyListeners()
  return createLazy(environment, (closing) => ({
    on: (event, listener) => early.on(event as Parameters<typeof early.on>[0], listener),
    make: ({ createAccountAllocator }) => createAccountAllocator(options, environment, { early, closing }),
  }))
}

const EVENTS: readonly string[] = ['used', 'foreign', 'gap', 'gapFilled', 'stuck', 'reorged', 'error']

/** An allocator of the nonces of a contract's counter, made by the first call that needs it. */
export function createLazyCounterAllocator<nonce extends number | bigint>(
  options: OpenOptions,
  source: NonceSource<nonce> & Pick<ContractSource, 'counter'>,
  environment: Environment,
  filler: NonceAllocatorParameters<nonce>['filler'],
): Lazy<nonce> {
  const events = createEmitter<CounterAllocatorEvents, object>({}, (error) =>
    (options.logger || undefined)?.error?.({ error: safeError(error) }, 'a listener threw'),
  )
  return createLazy(environment, (closing) => ({
    on(event, listener) {
      if (typeof listener !== 'function') throw invalid('listener', listener, 'a function')
      if (!EVENTS.includes(event)) throw invalid('event', event, `one of ${EVENTS.join(', ')}`)
      return events.on(event as keyof CounterAllocatorEvents, listener as (payload: unknown) => void)
    },
    make: ({ createCounterAllocator }) =>
      createCounterAllocator(options, source, environment, { filler, events, closing }),
  }))
}

function createLazy<nonce extends number | bigint>(
  { runtime }: Environment,
  partsOf: (closing: AbortSignal) => Parts<nonce>,
): Lazy<nonce> {
  const closer = new AbortController()
  const closing = closer.signal
  const { on, make } = partsOf(closing)
  let made: AllocatorInternals<nonce> | undefined
  let closed: Promise<void> | undefined

  /** Acts in the turn of the call if the allocator exists. `signal` and `close` end a wait for its code. */
  function use<T>(
    act: (allocator: AllocatorInternals<nonce>) => Promise<T>,
    signal?: AbortSignal | undefined,
  ): Promise<T> {
    if (made !== undefined) return act(made)
    if (closing.aborted) return Promise.reject(closedError())
    const found = runtime() as AllocatorRuntime | Promise<AllocatorRuntime>
    return whenLoaded('then' in found ? untilEnded(found, { signal, closing }) : found, (loaded) => {
      made ??= make(loaded)
      return act(made)
    })
  }

  return {
    ready: () => use((allocator) => allocator.ready()),
    reserveMany: (amount, options) =>
      use((allocator) => allocator.reserveMany(amount, options), options.signal),
    adopt: (bytes) => use((allocator) => allocator.adopt(bytes)),
    resync: () => use((allocator) => allocator.resync()),
    // A lane that this allocator has not opened has no holds here, and its state is unknown.
    resume: () => made?.resume(),
    snapshot: () => made?.snapshot(),
    on,
    close() {
      closer.abort(closedError())
      closed ??= made?.close() ?? Promise.resolve()
      return closed
    },
  }
}
