import type { Counter } from '../allocator/counter.js'
import type { NonceSource } from '../allocator/sources.js'
import { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import type {
  AllocatorInternals,
  CounterSnapshot,
  NonceAllocatorParameters,
  ReserveOptions,
} from './allocator.js'
import { type ContractSource, type CounterEvents, type CounterLane, openCounter } from './counterLane.js'
import type { Environment } from './environment.js'
import type { OpenOptions } from './open.js'
import { createReservation, type Reservation } from './reservation.js'
import { createStop, stopOfSignal, unlessStopped } from './unlessStopped.js'
import { object } from './validate.js'

const EVENTS: readonly (keyof CounterEvents)[] = [
  ...(['used', 'foreign', 'gap', 'gapFilled', 'stuck', 'reorged'] as const),
  'error',
]
type Listener = { readonly event: keyof CounterEvents; readonly tell: (payload: never) => void; off(): void }

/** Hands out what a contract's counter counts. The books are this process's own. */
export function createCounterAllocator<nonce extends number | bigint>(
  options: OpenOptions,
  source: NonceSource<nonce> & Pick<ContractSource, 'counter'>,
  environment: Environment,
  filler: NonceAllocatorParameters<nonce>['filler'],
): AllocatorInternals<nonce> {
  const { windowMax } = options.limits
  const closing = createStop(closedError)
  const listeners = new Set<Listener>()
  const fill = filler && (async (count: bigint) => filler({ nonce: source.nonceOf(count) }))
  let opening: Promise<CounterLane> | undefined
  let opened: CounterLane | undefined

  async function open(): Promise<CounterLane> {
    if (closing.stopped()) throw closedError()
    opening ??= openCounter(options, source, environment).then(
      (lane) => {
        opened = lane
        for (const listener of listeners) attach(listener)
        if (fill) lane.fillers.add(fill)
        return lane
      },
      (error: unknown) => {
        // Not kept: the next call tries anew.
        opening = undefined
        throw error
      },
    )
    const lane = await opening
    await lane.refresh()
    return lane
  }

  function attach(listener: Listener): void {
    if (opened) listener.off = opened.events.on(listener.event, listener.tell)
  }

  /** Does what takes a count, and has it followed from then on. */
  function take<T>(lane: CounterLane, act: (counter: Counter) => T): T {
    const followed = lane.counter.pace() === 'cadence'
    const result = act(lane.counter)
    if (!followed) lane.wake()
    return result
  }

  async function reserveMany(amount: number, { signal }: ReserveOptions): Promise<Reservation<nonce>[]> {
    const stops = [stopOfSignal(signal, abortedError), closing]
    const lane = await unlessStopped(open(), stops)
    if (!lane.counter.hasRoom(amount)) await unlessStopped(lane.look(), stops)
    if (!lane.counter.hasRoom(amount)) throw fullError(windowMax)
    const counts = take(lane, (counter) => counter.reserve(amount))
    return counts.map((count) => reservationOf(lane.counter, count))
  }

  function reservationOf(counter: Counter, count: bigint): Reservation<nonce> {
    const nonce = source.nonceOf(count)
    return createReservation({
      nonce,
      // Who carries it does not matter: whatever an endpoint says of one carrier, another may bring it in.
      carried: true,
      async read(parameters) {
        const { payload, serializedTransaction } = object('parameters', parameters)
        checkPayload(payload ?? serializedTransaction)
        if (!counter.commit(count)) throw usedError(nonce)
      },
      async keep() {},
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
    async adopt(parameters) {
      const { nonce, payload } = object('parameters', parameters) as { nonce?: unknown; payload?: unknown }
      checkPayload(payload)
      const first = BigInt(source.nonceOf(0n))
      const count = typeof nonce === 'bigint' ? nonce - first : -1n
      if (count < 0n || source.nonceOf(count) !== nonce)
        throw invalid('nonce', nonce, 'a nonce of this source')
      const lane = await open()
      const { cursor } = lane.counter.state!
      // Each nonce in between would become a gap.
      if (count - cursor > windowMax)
        throw invalid('nonce', nonce, `one near the next, ${source.nonceOf(cursor)}`)
      if (!take(lane, (counter) => counter.adopt(count))) throw usedError(nonce)
    },
    async resync() {
      await (await open()).look()
    },
    // A counter is read, not believed: nothing holds it.
    resume() {},
    snapshot: () => opened && snapshotOf(source, opened),
    on(event, listener) {
      const name = event as keyof CounterEvents
      if (typeof listener !== 'function') throw invalid('listener', listener, 'a function')
      if (!EVENTS.includes(name)) throw invalid('event', event, `one of ${EVENTS.join(', ')}`)
      const tell = (payload: bigint | Error) =>
        listener(
          (typeof payload === 'bigint' ? { nonce: source.nonceOf(payload) } : { error: payload }) as never,
        )
      const entry: Listener = { event: name, tell, off() {} }
      listeners.add(entry)
      attach(entry)
      return () => {
        listeners.delete(entry)
        entry.off()
      }
    },
    async close() {
      closing.stop()
      for (const { off } of listeners) off()
      const lane = await opening?.catch(() => undefined)
      if (fill) lane?.fillers.delete(fill)
      await lane?.release()
    },
  }
}

function snapshotOf(source: ContractSource, { chainId, counter }: CounterLane): CounterSnapshot | undefined {
  const { state } = counter
  return state && { chainId, kind: source.kind, ...source.counter, durable: false, ...state }
}

function checkPayload(payload: unknown): void {
  if (typeof payload !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(payload))
    throw invalid('payload', payload, 'hex data')
}

function fullError(windowMax: number): TxlaneError {
  return new TxlaneError(`${windowMax} nonces are handed out and not used yet (limits.windowMax).`, {
    code: 'QUEUE_FULL',
    fate: 'notExecuted',
  })
}

function usedError(nonce: number | bigint): TxlaneError {
  return new TxlaneError(`Nonce ${nonce} was used by something else, or is about to be.`, {
    code: 'TOO_LATE',
    fate: 'notExecuted',
  })
}

function abortedError(): TxlaneError {
  return new TxlaneError('The reservation was aborted.', { code: 'ABORTED', fate: 'notExecuted' })
}

function closedError(): TxlaneError {
  return new TxlaneError('The allocator is closed.', { code: 'CLOSED', fate: 'notExecuted' })
}
