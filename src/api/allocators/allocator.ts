import type { Address, Chain, Client, Hex, Transport } from 'viem'
import { accountNonce, type NonceSource } from '../../allocator/sources.js'
import type { Environment } from '../../chain/environment.js'
import { TxlaneError } from '../../errors/base.js'
import { checkNames, type Names } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import type { OpenOptions } from '../../ownership/open.js'
import type { AnyClient } from '../../rpc/transports/fromClient.js'
import type { HoldReason, LaneOptions, LaneSnapshot } from '../../types/index.js'
import { address as checkAddress, checkSignal, object } from '../../validate/validate.js'
import { checkLaneOptions, checkLimits, defaultLimits } from '../../validate/validateLane.js'
import { createLazyAccountAllocator, createLazyCounterAllocator } from './lazyAllocator.js'
import type { Reservation } from './reservation.js'

/** The parameters of `createNonceAllocator`. */
export type NonceAllocatorParameters<nonce extends number | bigint = number> = Pick<
  LaneOptions<Chain>,
  'endpoints' | 'store' | 'lossDepth' | 'finality' | 'logger' | 'coldStart' | 'limits'
> & {
  /** Any viem client with a chain. Its account, if any, is not used. */
  client: AnyClient
  /** The account whose nonces are handed out. */
  address: Address
  /** The counter of the nonces: the account's own, or one that a contract holds. @default accountNonce() */
  source?: NonceSource<nonce> | undefined
  /**
   * Uses up an unused nonce of a contract's counter, so that higher nonces can land. The function signs a payload
   * without effect for this nonce and brings it on chain. It is called for a nonce that was released and not
   * reserved again within `limits.gapFillAfterMs`, and for a reserved nonce without `commit` or `settle` for
   * `limits.reservationTtlMs`. At most `limits.fillsMax` calls run at once. It is called again after
   * `reservationTtlMs` if the counter has not passed the nonce. A rejection is emitted as `error`. Not allowed for
   * nonces of an account: a sender of the same account fills those.
   * @default none: each such nonce is emitted as `gap`
   */
  filler?: ((gap: { nonce: nonce }) => Promise<unknown>) | undefined
}

/** The options of `reserve`. */
export type ReserveOptions = {
  /** Aborting it ends the wait with `ABORTED`. Reservations that were handed out before stay valid. */
  signal?: AbortSignal | undefined
}

/** The state of a counter in a contract, as of its last reading. */
export type CounterSnapshot = {
  /** The id of the contract's chain. */
  chainId: number
  /** The kind of the counter: `storage`, `entryPoint`, `safe` or `forwarder`. */
  kind: string
  /** The address of the contract. */
  address: Address
  /** The storage slot of the count. */
  slot: Hex
  /** The account whose nonces these are: the sender of user operations, the signer of meta-transactions. */
  account: Address | undefined
  /** The key of the sequence in an EntryPoint. */
  key: bigint | undefined
  /**
   * True if the store outlives the process: committed nonces stay taken after a restart and in other processes. False for
   * a memory store.
   */
  durable: boolean
  /**
   * True if this process owns the lease and assigns the nonces. Otherwise another process may do so, and the counts are
   * those of the last time.
   */
  holder: boolean
  /** The value of the counter in the newest sealed block. */
  floor: bigint
  /** The next count to hand out when there is no hole. */
  cursor: bigint
  /** Released counts, lowest first. They are handed out before `cursor`. */
  holes: readonly bigint[]
  /** The number of counts that are handed out and not passed by the counter, pre-confirmed blocks included. */
  inFlight: number
  /**
   * The committed nonces that no sealed block has passed, lowest first, with their payloads as they were committed, in lower
   * case, the newest last. After a restart their carrier transactions may never have been sent: send them again.
   */
  outstanding: readonly { readonly nonce: bigint; readonly payloads: readonly Hex[] }[]
}

/** The events of an allocator: those of every allocator, and those of accounts or of counters in contracts alone. */
export type AllocatorEvents<nonce extends number | bigint = number> = Record<
  /**
   * A reserved nonce had no `commit` or `settle` for `limits.reservationTtlMs`, or a released nonce was not
   * reserved again for `limits.gapFillAfterMs`, and this process cannot fill it. Emitted again after
   * `reservationTtlMs`.
   */
  | 'gap'
  /** A no-op used up the nonce. It came from a sender of the same account in this process, or from the `filler`. */
  | 'gapFilled'
  /** The nonce was used by a transaction or payload that was not committed here. */
  | 'foreign',
  { nonce: nonce }
> & {
  /** A failure that rejects no promise of a caller: a failed reading, which is tried again, or a failed `filler`. */
  error: { error: Error }
} & (nonce extends bigint ? CounterEvents<nonce> : AccountEvents<nonce>)

type AccountEvents<nonce> = Record<'unresolved', { nonce: nonce }> &
  Record<'held' | 'released', { reason: HoldReason }>

type CounterEvents<nonce> = Record<
  /**
   * The counter has passed the nonce in a sealed block, and a payload was committed here: a payload with this nonce was
   * used. Only the contract's event shows whether it was the committed one. After a reorg the event may come again.
   */
  | 'used'
  /**
   * A payload was committed, and the counter has stayed at its nonce for `limits.reservationTtlMs`. Higher nonces
   * cannot land either.
   */
  | 'stuck'
  /** The block that used the nonce has left the chain. The same payload or another one may use the nonce again. */
  | 'reorged',
  { nonce: nonce }
>

/** The parameter of `adopt`: signed bytes, or for a contract's counter a payload and its nonce. */
export type AdoptParameters<nonce extends number | bigint = number> = nonce extends bigint
  ? { nonce: nonce; payload: Hex }
  : Hex

/** Hands out nonces to code that signs and sends by itself. */
export interface NonceAllocator<nonce extends number | bigint = number> extends AsyncDisposable {
  /** Reads the chain and takes the lease. Optional: `reserve` does the same. */
  ready(): Promise<void>
  /**
   * Reserves the lowest free nonce for the caller. Waits while the lane is under a hold.
   *
   * @throws TxlaneError `ABORTED` by the signal; `CLOSED`; `LEASE_LOST` while another process owns the lane;
   *   `QUEUE_FULL` if `limits.windowMax` nonces are handed out and not covered
   */
  reserve(options?: ReserveOptions): Promise<Reservation<nonce>>
  /**
   * Reserves the `amount` lowest free nonces, in ascending order. They are consecutive unless some nonces were released
   * before. `amount` is a whole number from 1 to `limits.windowMax`.
   *
   * @throws TxlaneError as `reserve`, and `INVALID` for the amount. All nonces are reserved, or none
   */
  reserveMany(amount: number, options?: ReserveOptions): Promise<Reservation<nonce>[]>
  /**
   * Registers signed bytes with a nonce that was not reserved here, for example those of an earlier process life.
   * Resolves once they are in the store. The lane follows them and resends them when they stall. For a contract's
   * counter the parameter is a payload with its nonce, which counts as committed from then on.
   *
   * @throws TxlaneError `INVALID` if the nonce belongs to another transaction; `TOO_LATE` if the transaction that used
   *   the nonce is settled, or if the counter has passed it
   */
  adopt(bytes: AdoptParameters<nonce>): Promise<void>
  /**
   * Reads the source of the nonces again, at `latest` and at `pending`, and drops used nonces: for an account as
   * `Sender.resync`, for a contract's counter its storage and the code of the contract, in one request.
   *
   * @throws TxlaneError `INVALID` if the address of a counter has no code; `UNREACHABLE`; `CLOSED`
   */
  resync(): Promise<void>
  /**
   * Lifts the holds that wait for an operator (`paused`, `jump`, `deepReorg`, `storeBehindChain`), for all users of the
   * lane. While the lane opens, it lifts the holds that were emitted before the call. It does nothing before that, and
   * for counters in a contract's storage.
   */
  resume(): void
  /**
   * The state of the lane from its own records, without a request to a node.
   *
   * @throws TxlaneError `INVALID` before `ready` or a first reservation, because the chain was not read yet
   */
  snapshot(): nonce extends bigint ? CounterSnapshot : LaneSnapshot
  /** Calls the listener with each event of this kind from now on, until the returned function is called. */
  on<event extends keyof AllocatorEvents<nonce>>(
    event: event,
    listener: (payload: AllocatorEvents<nonce>[event]) => void,
  ): () => void
  /**
   * Ends the allocator. Reserved nonces stay taken until the chain shows their use, and are recorded in the store. For a
   * contract's counter a nonce without a committed payload is free again in the next process.
   */
  close(): Promise<void>
}

/** The functions that differ between the two kinds of allocator. */
export type AllocatorInternals<nonce extends number | bigint> = Pick<
  NonceAllocator<nonce>,
  'ready' | 'adopt' | 'resync' | 'resume' | 'close'
> & {
  reserveMany(amount: number, options: ReserveOptions): Promise<Reservation<nonce>[]>
  snapshot(): LaneSnapshot | CounterSnapshot | undefined
}

/** `createNonceAllocator` in a given environment, for simulations. */
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
  finality: true,
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
  // `checkLaneOptions` refuses a client without a chain.
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
