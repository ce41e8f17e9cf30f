import { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { Engine } from '../../lane/engine/engineTypes.js'
import { readEnvelope } from '../../lane/transaction/outside.js'
import type { Book } from '../../ledger/book.js'
import { raceStop, type StopSignal, stopOfSignal } from '../../platform/stopSignal.js'
import type { Limits } from '../../types/index.js'
import { object } from '../../validate/validate.js'
import type { ReserveOptions } from './allocator.js'
import { abortedError } from './errors.js'
import { createReservation, type Reservation } from './reservation.js'

/** Creates the function that reserves nonces of an account for code that signs by itself. */
export function createReserving({
  limits,
  closing,
  hold,
}: {
  readonly limits: Pick<Limits, 'windowMax'>
  readonly closing: StopSignal
  /** Resolves with the engine once this process owns the lane. */
  readonly hold: () => Promise<Engine>
}) {
  async function reserveMany(amount: number, { signal }: ReserveOptions): Promise<Reservation<number>[]> {
    const stops = [stopOfSignal(signal, abortedError), closing]
    for (;;) {
      const engine = await raceStop(hold(), stops)
      const { lane, closed } = engine.context
      if (lane.holds.any) await lifted(engine, stops)
      const nonces = await lane.exclusive(() =>
        signal?.aborted || lane.holds.any || closed ? [] : take(engine, amount),
      )
      if (nonces.length === amount) return given(engine, nonces, stops)
      if (signal?.aborted) throw abortedError()
    }
  }

  function take({ context, externalNonces }: Engine, amount: number): number[] {
    const { book } = context.lane
    // A full window throws instead of waiting: outside code may want all its nonces before it sends the first one.
    const room = limits.windowMax - (book.cursor - book.coveredTo)
    // Released nonces always have room. If they were refused, the higher nonces would wait for them for ever.
    if (amount > room && amount > Math.max(0, room) + holesOf(book)) throw fullError(limits.windowMax)
    return Array.from({ length: amount }, () => externalNonces.handOut())
  }

  /** Waits for the store before a caller gets the nonces: after a crash they must not be handed out again. */
  async function given(
    engine: Engine,
    nonces: number[],
    stops: readonly StopSignal[],
  ): Promise<Reservation<number>[]> {
    const { externalNonces } = engine
    try {
      await raceStop(externalNonces.written(), stops)
    } catch (error) {
      for (const nonce of nonces) externalNonces.release(nonce)
      throw error
    }
    return nonces.map((nonce) => reservationOf(engine, nonce))
  }

  /** Resolves when a new try makes sense: a hold was lifted, or this process has lost the lane. */
  async function lifted({ context }: Engine, stops: readonly StopSignal[]): Promise<void> {
    let off = () => {}
    const next = new Promise<void>((resolve) => {
      const offs = [context.events.on('released', () => resolve()), context.closing.listen(resolve)]
      off = () => {
        for (const each of offs) each()
      }
    })
    await raceStop(next, stops).finally(off)
  }

  function reservationOf(engine: Engine, nonce: number): Reservation<number> {
    const { externalNonces, context } = engine
    const { key } = context.lane
    return createReservation({
      nonce,
      async read(parameters) {
        const { serializedTransaction } = object('parameters', parameters)
        const envelope = await readEnvelope('serializedTransaction', serializedTransaction, key)
        if (envelope.nonce === nonce) return envelope
        throw invalid('serializedTransaction', `nonce ${envelope.nonce}`, `bytes with nonce ${nonce}`)
      },
      async keep(envelope) {
        await externalNonces.commit(nonce, envelope)
      },
      outcome(outcome, envelope) {
        externalNonces.outcome(nonce, envelope, outcome)
        return context.lane.book.get(nonce)?.state === 'hole'
      },
      renew: () => externalNonces.renew(nonce),
      async release() {
        externalNonces.release(nonce)
        await externalNonces.written()
      },
    })
  }

  return reserveMany
}

function holesOf(book: Book): number {
  let holes = 0
  for (const { nonce, state } of book.slots.values())
    if (state === 'hole' && nonce >= book.coveredTo && nonce < book.cursor) holes++
  return holes
}

function fullError(windowMax: number): TxlaneError {
  return new TxlaneError(`${windowMax} nonces are handed out and not covered yet (limits.windowMax).`, {
    code: 'QUEUE_FULL',
    fate: 'notExecuted',
  })
}
