import type { Counter, CounterEvent } from '../../allocator/counter.js'
import type { NonceSource } from '../../allocator/sources.js'
import type { Environment } from '../../chain/environment.js'
import { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import { safeError } from '../../errors/redactError.js'
import type { Emitter } from '../../lane/emitter.js'
import type { OpenOptions } from '../../ownership/open.js'
import { createOpenOnce } from '../../ownership/openOnce.js'
import { object } from '../../validate/validate.js'
import type {
  AllocatorInternals,
  CounterSnapshot,
  NonceAllocatorParameters,
  ReserveOptions,
} from './allocator.js'
import { type ContractSource, type CounterLane, type CounterUser, openCounter } from './counterLane.js'
import { closedError, untilEnded } from './errors.js'
import { createReservation, type Reservation } from './reservation.js'

/** The events of every kind of counter. */
export type CounterAllocatorEvents = Record<CounterEvent, { nonce: number | bigint }> & {
  error: { error: Error }
}

/** Hands out the nonces of a contract's counter. Its state belongs to this process alone. */
export function createCounterAllocator<nonce extends number | bigint>(
  options: OpenOptions,
  source: NonceSource<nonce> & Pick<ContractSource, 'counter'>,
  environment: Environment,
  {
    filler,
    events,
    closing,
  }: {
    readonly filler: NonceAllocatorParameters<nonce>['filler']
    readonly events: Emitter<CounterAllocatorEvents, object>
    readonly closing: AbortSignal
  },
): AllocatorInternals<nonce> {
  const { windowMax } = options.limits
  const { nonceOf } = source
  const user: CounterUser = {
    emit: (event, count) => events.emit(event, { nonce: nonceOf(count) }),
    fail: (error) => events.emit('error', { error: safeError(error) }),
    fill: filler && (async (count) => filler({ nonce: nonceOf(count) })),
  }
  const opening = createOpenOnce(() => openCounter(options, source, environment), environment.clock)
  let opened: CounterLane | undefined

  async function join(): Promise<CounterLane> {
    if (closing.aborted) throw closedError()
    opened = (await opening.open()).value
    opened.users.add(user)
    return opened
  }

  async function open(): Promise<CounterLane> {
    const lane = await join()
    await lane.refresh()
    return lane
  }

  /** Runs an action that takes a count, and starts to follow the counter if it was not followed before. */
  function take<T>(lane: CounterLane, act: (counter: Counter) => T): T {
    const followed = lane.counter.pace() === 'cadence'
    const result = act(lane.counter)
    if (!followed) lane.wake()
    return result
  }

  async function reserveMany(amount: number, { signal }: ReserveOptions): Promise<Reservation<nonce>[]> {
    const ends = { signal, closing }
    const lane = await untilEnded(open(), ends)
    if (!lane.counter.hasRoom(amount)) await untilEnded(lane.look(), ends)
    if (!lane.counter.hasRoom(amount)) throw fullError(windowMax)
    const counts = take(lane, (counter) => counter.reserve(amount))
    return counts.map((count) => reservationOf(lane.counter, count))
  }

  function reservationOf(counter: Counter, count: bigint): Reservation<nonce> {
    const nonce = nonceOf(count)
    return createReservation({
      nonce,
      // A refusal of one carrier transaction frees nothing: another one may still bring in the payload.
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
      const first = BigInt(nonceOf(0n))
      const count = typeof nonce === 'bigint' ? nonce - first : -1n
      if (count < 0n || nonceOf(count) !== nonce) throw invalid('nonce', nonce, 'a nonce of this source')
      const lane = await open()
      const { cursor } = lane.counter.state!
      // Each nonce between the cursor and this one would become a gap.
      if (count - cursor > windowMax) throw invalid('nonce', nonce, `one near the next, ${nonceOf(cursor)}`)
      if (!take(lane, (counter) => counter.adopt(count))) throw usedError(nonceOf(count))
    },
    async resync() {
      await (await join()).look(true)
    },
    // A counter has no holds: its state is read from the contract.
    resume() {},
    snapshot: () => opened && snapshotOf(source, opened),
    async close() {
      const held = await opening.close(closedError)
      held?.value.users.delete(user)
      await held?.release(held.value.stop)
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
