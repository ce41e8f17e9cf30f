import { type Counter, createCounter } from '../allocator/counter.js'
import type { NonceSource } from '../allocator/sources.js'
import { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import { getStorageAt } from '../rpc/reads/state.js'
import type { AllocatorInternals, CounterSnapshot, ReserveOptions } from './allocator.js'
import { defaultStore, type Environment, identityOf } from './environment.js'
import type { Hub } from './hub.js'
import { holdHub, type OpenOptions } from './open.js'
import { type Held, hold } from './registry.js'
import { createReservation, type Reservation } from './reservation.js'
import { createStop, stopOfSignal, unlessStopped } from './unlessStopped.js'
import { object, unsupported } from './validate.js'

type Shared = { readonly counter: Counter; readonly hub: Held<Hub> }
type Place = NonNullable<NonceSource<bigint>['counter']>

/**
 * Hands out what a contract's counter counts. The counts are kept in this process: another process with the same
 * counter hands out the same ones.
 */
export function createCounterAllocator<nonce extends number | bigint>(
  options: OpenOptions,
  source: NonceSource<nonce> & { readonly counter: Place },
  environment: Environment,
): AllocatorInternals<nonce> {
  const closing = createStop(closedError)
  /** Who listens for gaps, and how to stop it once the counter is open. */
  const gaps = new Map<(count: bigint) => void, (() => void) | undefined>()
  let opening: Promise<Held<Shared>> | undefined
  let opened: Held<Shared> | undefined

  async function open(): Promise<Counter> {
    if (closing.stopped()) throw closedError()
    opening ??= openCounter(options, source, environment).then(
      (held) => {
        opened = held
        for (const tell of gaps.keys()) gaps.set(tell, held.value.counter.onGap(tell))
        return held
      },
      (error: unknown) => {
        // Not kept: the next call tries anew.
        opening = undefined
        throw error
      },
    )
    const { counter } = (await opening).value
    await counter.ready()
    return counter
  }

  async function reserveMany(amount: number, { signal }: ReserveOptions): Promise<Reservation<nonce>[]> {
    const stops = [stopOfSignal(signal, abortedError), closing]
    const counter = await unlessStopped(open(), stops)
    const counts = await counter.reserve(amount)
    if (signal?.aborted || closing.stopped()) {
      for (const count of counts) counter.release(count)
      throw signal?.aborted ? abortedError() : closedError()
    }
    return counts.map((count) => reservationOf(counter, count))
  }

  function reservationOf(counter: Counter, count: bigint): Reservation<nonce> {
    return createReservation({
      nonce: source.nonceOf(count),
      async read(parameters) {
        const { payload, serializedTransaction } = object('parameters', parameters)
        const bytes = payload ?? serializedTransaction
        if (typeof bytes !== 'string' || !/^0x/.test(bytes)) throw invalid('payload', bytes, 'hex data')
      },
      keep: async () => counter.commit(count),
      // Who carries it does not matter: whatever an endpoint says of one carrier, another may bring it in.
      outcome: () => false,
      renew: () => counter.renew(count),
      release: async () => counter.release(count),
    })
  }

  return {
    async ready() {
      await open()
    },
    reserveMany,
    adopt: () =>
      Promise.reject(unsupported('adopt() for a nonce that a contract holds', 'reserve() and commit() it')),
    async resync() {
      await (await open()).resync()
    },
    // A counter is read, not believed: nothing holds it.
    resume() {},
    snapshot: () => opened && snapshotOf(source, opened.value),
    on(event, listener) {
      if (typeof listener !== 'function') throw invalid('listener', listener, 'a function')
      if (event !== 'gap') return () => {}
      const tell = (count: bigint) => listener({ nonce: source.nonceOf(count) } as never)
      gaps.set(tell, opened?.value.counter.onGap(tell))
      return () => {
        gaps.get(tell)?.()
        gaps.delete(tell)
      }
    },
    async close() {
      closing.stop()
      for (const off of gaps.values()) off?.()
      const held = await opening?.catch(() => undefined)
      await held?.release(async () => {
        held.value.counter.stop()
        await held.value.hub.release(() => held.value.hub.value.stop())
      })
    },
  }
}

async function openCounter(
  options: OpenOptions,
  source: NonceSource<number | bigint> & { readonly counter: Place },
  environment: Environment,
): Promise<Held<Shared>> {
  const probed = await holdHub(options, environment)
  const { chainId, genesisHash } = probed.value
  const { address, slot } = source.counter
  const store = identityOf(environment.shared, options.store ?? defaultStore(environment.shared))
  const name = `${chainId}:${genesisHash}:${address}/${slot}@${store}`
  try {
    return await hold(environment.shared.lanes, name, () => begin(options, source, environment))
  } finally {
    await probed.release(() => probed.value.stop())
  }
}

async function begin(
  options: OpenOptions,
  source: NonceSource<number | bigint> & { readonly counter: Place },
  environment: Environment,
): Promise<Shared> {
  const { limits } = options
  const hub = await holdHub(options, environment)
  const read = async () =>
    source.decode(
      await getStorageAt(hub.value.reader.port, {
        ...source.counter,
        block: 'pending',
        timeoutMs: limits.readTimeoutMs,
      }),
    )
  const counter = createCounter({
    read,
    clock: environment.clock,
    ttlMs: limits.reservationTtlMs,
    outstandingMax: limits.windowMax,
  })
  return { counter, hub }
}

function snapshotOf(
  source: NonceSource<number | bigint> & { readonly counter: Place },
  shared: Shared,
): CounterSnapshot | undefined {
  const state = shared.counter.snapshot
  return state && { chainId: shared.hub.value.chainId, kind: source.kind, ...source.counter, ...state }
}

function abortedError(): TxlaneError {
  return new TxlaneError('The reservation was aborted.', { code: 'ABORTED', fate: 'notExecuted' })
}

function closedError(): TxlaneError {
  return new TxlaneError('The allocator is closed.', { code: 'CLOSED', fate: 'notExecuted' })
}
