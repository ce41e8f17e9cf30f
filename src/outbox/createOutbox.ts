import { TxlaneError } from '../errors/base.js'
import { randomId } from '../lane/admission/randomId.js'
import type { CancelTimer } from '../platform/clock.js'
import type { StoredDelivery } from '../types/outbox.js'
import { createLog } from './log.js'
import { type OutboxEnvironment, settingsOf, systemEnvironment } from './options.js'
import { createSession, LEASE_MS, type Session } from './session.js'
import type { DeliveryStage, FailingDelivery, Outbox, OutboxOptions } from './types.js'

/**
 * Calls a handler for each stage that a transaction of the store reaches, at least once, whichever process
 * sent it and despite crashes. An outbox needs no sender: it reads the store. It starts at once; after
 * `ready` no change is missed.
 *
 * Guaranteed, with a durable store, for as long as the store keeps the transaction (`retentionMs`):
 *
 * - Each stage in `stages` that a transaction has, or has passed on its way to execution, is delivered until
 *   the handler accepts it or the delivery is given up. `sealed` comes before `settled`, and `settled` before
 *   `finalized`, even if the outbox reads the transaction only after all of them.
 * - The deliveries of one transaction are sequential. Stages never go backwards, unless a reorg removed a
 *   delivered stage: then `reorged` is delivered, or the transaction's current stage, or the same stage in
 *   another block.
 * - A failed delivery is retried, with pauses that double, and does not delay other transactions.
 * - Of several processes one delivers, by a lease of 10 s in the store. Another continues when the lease
 *   ends.
 *
 * Not guaranteed: that a delivery comes only once. It is repeated after a crash, if its answer was lost, and
 * if the process was paused for longer than its lease; `key` identifies repetitions. Also not guaranteed: an
 * order between transactions; states that came and went between two reads (a block that a reorg replaced, an
 * end that `again: true` undid); stages before `sealed`.
 *
 * @example
 * const { sqliteStore } = await import('txlane/sqlite')
 * const store = sqliteStore({ path: './lanes.db' })
 * const sender = createSender({ client, store })
 * const outbox = createOutbox({
 *   store,
 *   name: 'orders',
 *   receipts: sender,
 *   onStage: async ({ key, stage, tx }) => console.log(key, stage, tx.id, tx.status),
 * })
 * await outbox.ready()
 *
 * @throws `INVALID` for an invalid option
 */
export function createOutbox(options: OutboxOptions): Outbox {
  return createOutboxIn(systemEnvironment, options)
}

/** The interval between attempts to take a lease that another process owns. */
const TAKE_MS = 2_000
const FAILING_MAX = 100
/** Maximum number of deliveries that are read to find the oldest failures. */
const LOOKED_AT_MAX = 10_000

export function createOutboxIn(environment: OutboxEnvironment, options: OutboxOptions): Outbox {
  const { clock, background, random } = environment
  const settings = settingsOf(options)
  const { store, name } = settings
  const holder = `outbox-${randomId(random)}`
  const log = createLog(environment, settings)
  const waiting: { resolve(): void; reject(error: Error): void }[] = []
  let session: Session | undefined
  let isKnown = false
  let closing: Promise<void> | undefined
  let timer: CancelTimer | undefined
  let taking: Promise<void> | undefined

  function known(): void {
    isKnown = true
    for (const { resolve } of waiting.splice(0)) resolve()
  }

  function takeLater(delayMs: number): void {
    if (closing) return
    timer = background.setTimer(() => {
      taking = take()
    }, delayMs)
  }

  async function take(): Promise<void> {
    const takenMs = clock.now()
    try {
      const lease = await store.takeOutbox(name, holder, LEASE_MS)
      if (lease && closing) return void (await store.releaseOutbox(lease))
      if (lease === undefined) {
        if (!isKnown && (await store.readOutbox(name)).isKnown) known()
        log.noted(undefined)
        return takeLater(TAKE_MS)
      }
      log.taken(lease)
      session = createSession({ environment, settings, lease, log, takenMs, known, lost })
      function lost(): void {
        session = undefined
        if (lease) log.lost(lease)
        takeLater(TAKE_MS)
      }
    } catch (error) {
      log.noted(error)
      takeLater(TAKE_MS)
    }
  }

  async function close(): Promise<void> {
    timer?.()
    for (const { reject } of waiting.splice(0)) reject(closed())
    await taking
    await session?.close()
    session = undefined
    log.stop()
  }

  takeLater(0)
  return {
    ready() {
      if (isKnown) return Promise.resolve()
      if (closing) return Promise.reject(closed())
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
    },
    async snapshot() {
      const [{ isHeld, behind, open, dead }, failing, stopped] = await Promise.all([
        store.readOutbox(name),
        store.deliveries(name, { state: 'open', limit: LOOKED_AT_MAX }),
        store.deliveries(name, { state: 'dead', limit: LOOKED_AT_MAX }),
      ])
      const { chainId } = settings
      const own = behind.filter(({ lane }) => chainId === undefined || lane.chainId === chainId)
      const { trouble } = log
      return {
        name,
        delivers: session !== undefined,
        isHeld,
        waiting: open,
        stopped: dead,
        behind: own.length,
        failing: [...oldest(failing), ...oldest(stopped)].map(shownOf),
        ...(trouble === undefined ? {} : { trouble }),
      }
    },
    async retry() {
      if (closing) throw closed()
      if (session === undefined)
        throw new TxlaneError('Another process delivers under this name: call retry() there.', {
          code: 'LEASE_LOST',
          fate: 'notExecuted',
        })
      return session.retry()
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

function oldest(deliveries: readonly StoredDelivery[]): readonly StoredDelivery[] {
  return deliveries
    .filter(({ tries }) => tries > 0)
    .sort((a, b) => (a.sinceMs ?? 0) - (b.sinceMs ?? 0))
    .slice(0, FAILING_MAX)
}

function shownOf({ id, chain, state, next, tries, failure, sinceMs }: StoredDelivery): FailingDelivery {
  return {
    id,
    chainId: chain.chainId,
    stage: next?.stage as DeliveryStage,
    tries,
    reason: failure ?? '',
    since: new Date(sinceMs ?? 0).toISOString(),
    isStopped: state === 'dead',
  }
}

function closed(): TxlaneError {
  return new TxlaneError('The outbox is closed.', { code: 'CLOSED', fate: 'notExecuted' })
}
