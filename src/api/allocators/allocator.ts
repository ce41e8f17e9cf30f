import type { Address, Chain, Client, Hex, Transport } from 'viem'
import { accountNonce, type NonceSource } from '../../allocator/sources.js'
import type { Environment } from '../../chain/environment.js'
import { TxlaneError } from '../../errors/base.js'
import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import type { OpenOptions } from '../../ownership/open.js'
import type { AnyClient } from '../../rpc/transports/fromClient.js'
import type { HoldReason, LaneOptions, LaneSnapshot } from '../../types/index.js'
import { defaultLimits } from '../../validate/limits.js'
import { address as checkAddress, checkSignal, object } from '../../validate/validate.js'
import { checkLaneOptions, checkLimits } from '../../validate/validateLane.js'
import { createLazyAccountAllocator, createLazyCounterAllocator } from './lazyAllocator.js'
import type { Reservation } from './reservation.js'

/** What `createNonceAllocator` takes. */
export type NonceAllocatorParameters<nonce extends number | bigint = number> = Pick<
  LaneOptions<Chain>,
  'endpoints' | 'store' | 'lossDepth' | 'logger' | 'coldStart' | 'limits'
> & {
  /** Any viem client with a chain. Its account, if it has one, is not used. */
  client: AnyClient
  /** Whose nonces. */
  address: Address
  /** Where the nonce is counted. @default accountNonce() */
  source?: NonceSource<nonce> | undefined
  /**
   * Uses up a nonce that a contract holds and nobody here will use, so that those above it can land: with a payload
   * that does nothing, signed for this nonce and brought in. Asked for a nonce that was given back and not handed out
   * again within `limits.gapFillAfterMs`, and for one that stays silent for `limits.reservationTtlMs`; for `fillsMax`
   * of them at once, and again after `reservationTtlMs` where the counter has not passed it. Where it rejects,
   * `error` tells. Nonces of accounts are filled by a sender of the same account.
   * @default none: `gap` tells of them
   */
  filler?: ((gap: { nonce: nonce }) => Promise<unknown>) | undefined
}

/** How `reserve` is to wait. */
export type ReserveOptions = {
  /** Ends the wait with ABORTED. A nonce that was handed out stays. */
  signal?: AbortSignal | undefined
}

/** What a contract-held counter looks like, as of its last reading. */
export type CounterSnapshot = {
  /** The contract's chain. */
  chainId: number
  /** What counts: `storage`, `entryPoint`, `safe` or `forwarder`. */
  kind: string
  /** The contract. */
  address: Address
  /** Where the count stands in its storage. */
  slot: Hex
  /** False: the books of a counter are this process's own, whatever the store. What was handed out before a restart,
   * or by another process, they do not know: `adopt` it. */
  durable: false
  /** What the counter stood at in the newest sealed block. */
  floor: bigint
  /** The next count to hand out when there is no hole. */
  cursor: bigint
  /** Counts that were given back and are handed out first. */
  holes: readonly bigint[]
  /** Handed out, and not passed by the counter, pre-confirmed blocks included. */
  inFlight: number
}

/** What `on` tells: of accounts and of counters in contracts alike, then of each alone. */
export type AllocatorEvents<nonce extends number | bigint = number> = Record<
  /**
   * A nonce stayed silent for `limits.reservationTtlMs`, or was given back and not handed out again for
   * `limits.gapFillAfterMs`, and nobody here can fill it. Told again after `reservationTtlMs`.
   */
  | 'gap'
  /** A no-op used it up: of a sender of the same account in this process, or of the `filler`. */
  | 'gapFilled'
  /** It was used by something that was not committed here. */
  | 'foreign',
  { nonce: nonce }
> & {
  /** Something failed that no promise tells of: a reading that is tried again, a `filler`. */
  error: { error: Error }
} & (nonce extends bigint ? CounterEvents<nonce> : AccountEvents<nonce>)

type AccountEvents<nonce> = Record<'unresolved', { nonce: nonce }> &
  Record<'held' | 'released', { reason: HoldReason }>

type CounterEvents<nonce> = Record<
  /**
   * A sealed block has the counter beyond it, and something was committed here: a payload of its nonce was used, of
   * which only the contract's event tells that it was this one. After a reorg it may be told again.
   */
  | 'used'
  /** Committed, and the counter has stood at it for `limits.reservationTtlMs`. What is above cannot land either. */
  | 'stuck'
  /** The block that used it has left the chain: it may be used again, by the same payload or by another. */
  | 'reorged',
  { nonce: nonce }
>

/** What `adopt` takes: signed bytes, or a payload and its nonce, for nonces that a contract holds. */
export type AdoptParameters<nonce extends number | bigint = number> = nonce extends bigint
  ? { nonce: nonce; payload: Hex }
  : Hex

/** Hands out nonces to code that signs and sends by itself. */
export interface NonceAllocator<nonce extends number | bigint = number> extends AsyncDisposable {
  /** Reads the chain, takes the lease. `reserve` waits for it by itself. */
  ready(): Promise<void>
  /**
   * The lowest nonce that is free, reserved for the caller. Waits while the lane is held.
   *
   * @throws TxlaneError `ABORTED`, `CLOSED`, `LEASE_LOST` while another process holds the lane, or `QUEUE_FULL` with
   * `limits.windowMax` of them handed out and not covered
   */
  reserve(options?: ReserveOptions): Promise<Reservation<nonce>>
  /** The `amount` lowest nonces that are free, in ascending order: consecutive unless some were given back. */
  reserveMany(amount: number, options?: ReserveOptions): Promise<Reservation<nonce>[]>
  /**
   * Takes note of signed bytes with a nonce that was not reserved here: those of an earlier life, say. Resolves once
   * they are in the store. They are followed, and sent again where they stand still. With a nonce that a contract
   * holds it is a payload: its nonce is handed to nobody from then on.
   *
   * @throws TxlaneError `INVALID` where the nonce belongs to another transaction; `TOO_LATE` where what used it is
   *   settled, or the counter has passed it
   */
  adopt(bytes: AdoptParameters<nonce>): Promise<void>
  /** Reads counts, code or the counter's storage again, and drops what is used. */
  resync(): Promise<void>
  /**
   * Lifts the holds that wait for an operator (`paused`, `jump`, `deepReorg`, `storeBehindChain`), for everybody who
   * shares the lane. While the lane is being opened it answers the holds that were told by then. Nothing to lift before
   * that, and with counters in a contract's storage.
   */
  resume(): void
  /**
   * What the lane looks like now, from its own books: nothing is asked of a node.
   *
   * @throws TxlaneError `INVALID` before `ready` or a first reservation: nothing is known yet
   */
  snapshot(): nonce extends bigint ? CounterSnapshot : LaneSnapshot
  /** Calls the listener with each event of the kind from now on, until the function that it gives back is called. */
  on<event extends keyof AllocatorEvents<nonce>>(
    event: event,
    listener: (payload: AllocatorEvents<nonce>[event]) => void,
  ): () => void
  /**
   * Reserves no more. What was handed out stays taken: in the store (of a counter in a contract: in this process), and
   * until the chain shows who used it.
   */
  close(): Promise<void>
}

/** What the two kinds of allocator have of their own. */
export type AllocatorInternals<nonce extends number | bigint> = Pick<
  NonceAllocator<nonce>,
  'ready' | 'adopt' | 'resync' | 'resume' | 'close'
> & {
  reserveMany(amount: number, options: ReserveOptions): Promise<Reservation<nonce>[]>
  snapshot(): LaneSnapshot | CounterSnapshot | undefined
}

/** `createNonceAllocator` in a given environment: for simulations. */
export function createNonceAllocatorIn<nonce extends number | bigint = number>(
  environment: Environment,
  parameters: NonceAllocatorParameters<nonce>,
): NonceAllocator<nonce> {
  const options = checkParameters(parameters)
  const allocator = allocatorOf(environment, options, parameters)
  const { limits } = options

  async function reserveMany(
    amount: number,
    reserveOptions: ReserveOptions = {},
  ): Promise<Reservation<nonce>[]> {
    if (!Number.isSafeInteger(amount) || amount < 1 || amount > limits.windowMax) {
      throw invalid('amount', amount, `a whole number from 1 to ${limits.windowMax}`)
    }
    const { signal } = object('options', reserveOptions) as ReserveOptions
    checkNames('options', reserveOptions, { signal: true })
    checkSignal('options.signal', signal)
    return allocator.reserveMany(amount, { signal })
  }

  return {
    ready: allocator.ready,
    async reserve(reserveOptions) {
      const [reservation] = await reserveMany(1, reserveOptions)
      return reservation!
    },
    reserveMany,
    adopt: allocator.adopt,
    resync: allocator.resync,
    resume: allocator.resume,
    snapshot() {
      const snapshot = allocator.snapshot()
      if (snapshot === undefined) throw unreadError()
      return snapshot as ReturnType<NonceAllocator<nonce>['snapshot']>
    },
    on: (event, listener) => allocator.on(event as string, listener as (payload: never) => void),
    close: allocator.close,
    [Symbol.asyncDispose]: allocator.close,
  }
}

const ALLOCATOR_OPTIONS = {
  endpoints: true,
  store: true,
  lossDepth: true,
  logger: true,
  coldStart: true,
  limits: true,
  client: true,
  address: true,
  source: true,
  filler: true,
} satisfies Names<NonceAllocatorParameters>

function checkParameters(parameters: unknown): OpenOptions {
  const { source, filler, client, ...rest } = object(
    'options',
    parameters,
  ) as unknown as NonceAllocatorParameters
  // A chain is asked for here, so the client has one from here on.
  const options = { ...rest, client: client as unknown as Client<Transport, Chain> }
  checkLaneOptions(options, ALLOCATOR_OPTIONS)
  checkAddress('address', rest.address)
  if (source !== undefined && typeof object('source', source).nonceOf !== 'function') {
    throw invalid('source', source, 'a nonce source, such as accountNonce()')
  }
  if (filler !== undefined && (typeof filler !== 'function' || source?.counter === undefined))
    throw invalid('filler', filler, 'a function, with nonces that a contract holds')
  return { ...options, signer: undefined, limits: checkLimits(rest.limits, defaultLimits), given: options }
}

function allocatorOf<nonce extends number | bigint>(
  environment: Environment,
  options: OpenOptions,
  { source, filler }: NonceAllocatorParameters<nonce>,
): ReturnType<typeof createLazyCounterAllocator<nonce>> {
  const { counter, ...rest } = source ?? (accountNonce() as unknown as NonceSource<nonce>)
  if (counter !== undefined)
    return createLazyCounterAllocator(options, { ...rest, counter }, environment, filler)
  return createLazyAccountAllocator(options, environment) as unknown as ReturnType<
    typeof createLazyCounterAllocator<nonce>
  >
}

function unreadError(): TxlaneError {
  return new TxlaneError('The chain has not been read yet: await ready() or a reservation first.', {
    code: 'INVALID',
    fate: 'notExecuted',
  })
}
