import type { Hex } from 'viem'
import type { Environment } from '../../chain/environment.js'
import { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { Engine } from '../../lane/engine/engineTypes.js'
import { readEnvelope } from '../../lane/transaction/outside.js'
import type { Book } from '../../ledger/book.js'
import { type EarlyListeners, resumeOpened } from '../../ownership/earlyListeners.js'
import { type OpenLane, type OpenOptions, openLane } from '../../ownership/open.js'
import { createOpenOnce } from '../../ownership/openOnce.js'
import { onAbort } from '../../platform/onAbort.js'
import type { Limits } from '../../types/index.js'
import { object } from '../../validate/validate.js'
import type { AllocatorInternals, ReserveOptions } from './allocator.js'
import { abortedError, closedError, type Ends, untilEnded } from './errors.js'
import { createReservation, type Reservation } from './reservation.js'

/** Hands out the account's own nonces, from the lane that senders of the account share. */
export function createAccountAllocator(
  options: OpenOptions,
  environment: Environment,
  { early, closing }: { readonly early: EarlyListeners; readonly closing: AbortSignal },
): AllocatorInternals<number> {
  const { limits } = options
  const opening = createOpenOnce(
    () => openLane({ ...options, closing }, environment, early.begin).then(attach),
    environment.clock,
  )
  let opened: OpenLane | undefined
  const reserveMany = createReserving({ limits, closing, hold })

  function open(): Promise<OpenLane> {
    return closing.aborted ? Promise.reject(closedError()) : opening.open()
  }

  function attach(lane: OpenLane): OpenLane {
    opened = lane
    early.attach(lane)
    return lane
  }

  /** Only the process that owns the lane can hand out its nonces. */
  async function hold(): Promise<Engine> {
    const lane = await open()
    return lane.ownership.hold()
  }

  async function adopt(raw: Hex): Promise<void> {
    const engine = await untilEnded(hold(), { closing })
    const { lane } = engine.context
    const envelope = await readEnvelope('raw', raw, lane.key)
    await lane.exclusive(() => {
      const { book } = lane
      const slot = book.get(envelope.nonce)
      const free = slot === undefined ? envelope.nonce >= book.floor : slot.state === 'hole'
      if (envelope.nonce - book.cursor > limits.windowMax) throw farError(envelope.nonce, book.cursor)
      if (free) lane.apply(envelope.nonce, { type: 'handOut' })
    })
    await engine.externalNonces.commit(envelope.nonce, envelope)
  }

  return {
    async ready() {
      const engine = await untilEnded(hold(), { closing })
      await untilEnded(engine.settled(), { closing })
    },
    reserveMany,
    adopt,
    async resync() {
      const lane = await open()
      await untilEnded(lane.ownership.worker.resync(), { closing })
    },
    resume() {
      const { heard } = early
      if (opened) opened.ownership.resume()
      else if (heard.size > 0)
        void opening.started?.then(
          (lane) => resumeOpened(lane, heard),
          () => {},
        )
    },
    snapshot: () => opened?.ownership.engine?.snapshot(),
    async close() {
      const lane = await opening.close(closedError)
      await lane?.release(lane.ownership.close)
      early.detach()
    },
  }
}

/** Each nonce between the cursor and this one would become a gap. */
function farError(nonce: number, cursor: number): TxlaneError {
  return invalid('raw', `nonce ${nonce}`, `bytes with a nonce near the lane's next one, ${cursor}`)
}

/** Creates the function that reserves nonces of an account for code that signs by itself. */
function createReserving({
  limits,
  closing,
  hold,
}: {
  readonly limits: Pick<Limits, 'windowMax'>
  readonly closing: AbortSignal
  /** Resolves with the engine once this process owns the lane. */
  readonly hold: () => Promise<Engine>
}) {
  async function reserveMany(amount: number, { signal }: ReserveOptions): Promise<Reservation<number>[]> {
    const ends = { signal, closing }
    for (;;) {
      const engine = await untilEnded(hold(), ends)
      const { lane, closed } = engine.context
      if (lane.holds.any) await lifted(engine, ends)
      const nonces = await lane.exclusive(() =>
        signal?.aborted || lane.holds.any || closed ? [] : take(engine, amount),
      )
      if (nonces.length === amount) return given(engine, nonces, ends)
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
  async function given(engine: Engine, nonces: number[], ends: Ends): Promise<Reservation<number>[]> {
    const { externalNonces } = engine
    try {
      await untilEnded(externalNonces.written(), ends)
    } catch (error) {
      for (const nonce of nonces) externalNonces.release(nonce)
      throw error
    }
    return nonces.map((nonce) => reservationOf(engine, nonce))
  }

  /** Resolves when a new try makes sense: a hold was lifted, or this process has lost the lane. */
  async function lifted({ context }: Engine, ends: Ends): Promise<void> {
    let off = () => {}
    const next = new Promise<void>((resolve) => {
      const offs = [context.events.on('released', () => resolve()), onAbort(context.closing, resolve)]
      off = () => {
        for (const each of offs) each()
      }
    })
    await untilEnded(next, ends).finally(off)
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
