import type { Hex } from 'viem'
import type { CounterEvent } from '../../allocator/counter.js'
import { COUNT_MAX, payloadAttempt } from '../../allocator/countRecords.js'
import type { NonceSource } from '../../allocator/sources.js'
import type { Environment } from '../../chain/environment.js'
import { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { Emitter } from '../../lane/emitter.js'
import { type CounterLane, openCounter } from '../../ownership/counterLane.js'
import type { ContractSource, CounterTerm, CounterUser } from '../../ownership/counterTerm.js'
import type { OpenOptions } from '../../ownership/open.js'
import { createOpenOnce } from '../../ownership/openOnce.js'
import { object, unsupported } from '../../validate/validate.js'
import type {
  AllocatorInternals,
  CounterSnapshot,
  NonceAllocatorParameters,
  ReserveOptions,
} from './allocator.js'
import { closedError, untilEnded } from './errors.js'
import { createReservation, type Reservation } from './reservation.js'

/** The events of every kind of counter. */
export type CounterAllocatorEvents = Record<CounterEvent, { nonce: number | bigint }> & {
  error: { error: Error }
}

/** Hands out the nonces of a contract's counter, from the lane that all allocators of the counter share. */
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
    fail: (error) => events.emit('error', { error }),
    fill: filler && (async (count) => filler({ nonce: nonceOf(count) })),
  }
  const opening = createOpenOnce(
    () => openCounter({ ...options, closing }, source, environment),
    environment.clock,
  )
  let opened: CounterLane | undefined

  /** Only the process that owns the counter's lane can hand out its nonces. */
  async function hold(): Promise<CounterTerm> {
    const term = await join()
    await term.refresh()
    if (term.ended) throw term.ended
    return term
  }

  async function join(): Promise<CounterTerm> {
    if (closing.aborted) throw closedError()
    opened = (await opening.open()).value
    // Before the counter is read: the reading shows what happened to nonces of an earlier process.
    opened.users.add(user)
    return opened.hold()
  }

  /** Runs an action that takes a count, and starts to follow the counter if it was not followed before. */
  function take<T>({ counter, wake }: CounterTerm, act: () => T): T {
    const followed = counter.pace() === 'cadence'
    const result = act()
    if (!followed) wake()
    return result
  }

  async function reserveMany(amount: number, { signal }: ReserveOptions): Promise<Reservation<nonce>[]> {
    const ends = { signal, closing }
    const term = await untilEnded(hold(), ends)
    const { counter } = term
    if (!counter.hasRoom(amount)) await untilEnded(term.look(), ends)
    if (term.ended) throw term.ended
    if (!counter.hasRoom(amount)) throw fullError(windowMax)
    checkCount(counter.state!.cursor + BigInt(amount))
    const counts = take(term, () => counter.reserve(amount))
    return counts.map((count) => reservationOf(term, count))
  }

  function reservationOf(term: CounterTerm, count: bigint): Reservation<nonce> {
    const { counter, lease } = term
    const nonce = nonceOf(count)
    return createReservation({
      nonce,
      // A refusal of one carrier transaction frees nothing: another one may still bring in the payload.
      carried: true,
      async read(parameters) {
        const { payload, serializedTransaction } = object('parameters', parameters)
        const bytes = readPayload(payload ?? serializedTransaction)
        if (term.ended) throw term.ended
        if (!counter.commit(count, payloadAttempt(bytes, lease.epoch))) throw usedError(nonce)
      },
      keep: term.written,
      outcome: () => false,
      renew: () => counter.renew(count),
      release: async () => counter.release(count),
    })
  }

  return {
    async ready() {
      await untilEnded(hold(), { closing })
    },
    reserveMany,
    async adopt(parameters) {
      const { nonce, payload } = object('parameters', parameters) as { nonce?: unknown; payload?: unknown }
      const bytes = readPayload(payload)
      const first = BigInt(nonceOf(0n))
      const count = typeof nonce === 'bigint' ? nonce - first : -1n
      if (count < 0n || nonceOf(count) !== nonce) throw invalid('nonce', nonce, 'a nonce of this source')
      const term = await untilEnded(hold(), { closing })
      const { counter, lease } = term
      const { cursor } = counter.state!
      // Each nonce between the cursor and this one would become a gap.
      if (count - cursor > windowMax) throw invalid('nonce', nonce, `one near the next, ${nonceOf(cursor)}`)
      checkCount(count)
      const attempt = payloadAttempt(bytes, lease.epoch)
      if (!take(term, () => counter.adopt(count, attempt))) throw usedError(nonceOf(count))
      await term.written()
    },
    async resync() {
      const term = await untilEnded(join(), { closing })
      await untilEnded(term.look(true), { closing })
      if (term.ended) throw term.ended
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

function snapshotOf(source: ContractSource, lane: CounterLane): CounterSnapshot | undefined {
  const { counter } = lane.term ?? {}
  if (counter?.state === undefined) return undefined
  const { chainId, isDurable: durable } = lane
  const outstanding = counter.outstanding().map(({ count, attempts }) => ({
    nonce: BigInt(source.nonceOf(count)),
    payloads: attempts.map(({ raw }) => raw),
  }))
  const { kind, account, key } = source
  const holder = lane.term?.ended === undefined
  return { chainId, kind, ...source.counter, account, key, durable, holder, ...counter.state, outstanding }
}

function readPayload(payload: unknown): Hex {
  if (typeof payload !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(payload))
    throw invalid('payload', payload, 'hex data')
  return payload.toLowerCase() as Hex
}

function checkCount(count: bigint): void {
  if (count <= COUNT_MAX) return
  throw unsupported(`a counter at ${count}`, `use a counter of at most ${COUNT_MAX}`)
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
