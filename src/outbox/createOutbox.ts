import { TxlaneError } from '../errors/base.js'
import { randomId } from '../lane/admission/randomId.js'
import type { CancelTimer } from '../platform/clock.js'
import type { StoredDelivery } from '../types/outbox.js'
import { type OutboxEnvironment, systemEnvironment } from './environment.js'
import { createLog } from './log.js'
import { settingsOf } from './options.js'
import { createSession, LEASE_MS, type Session } from './session.js'
import type { DeliveryStage, FailingDelivery, Outbox, OutboxOptions } from './types.js'

/**
 * Calls a handler for each stage that a transaction of the store reaches, at least once, whichever process sent it and
 * whatever was killed in between. An outbox needs no sender: it reads the store. It begins at once; `ready` says from when
 * on nothing is left out.
 *
 * Guaranteed, with a store that outlives the process, for as long as the store keeps the transaction (`retentionMs`):
 * - Each stage of `stages` that a transaction is at, or has passed on its way to execution, is told until the handler
 *   accepts it, or the delivery is given up. `sealed` comes before `settled`, and that before `finalized`, also where the
 *   outbox looks when all of them are over.
 * - The deliveries of one transaction come one after the other. No stage is told backwards, but where a reorg took back
 *   what was told: then `reorged` comes, or the stage that the transaction has now, or the same stage in another block.
 * - A delivery that fails is tried again, with pauses that double, and holds up no other transaction.
 * - Of several processes one delivers, by a lease of 10 s in the store; another goes on when it ends.
 *
 * Not guaranteed: that a delivery comes once. It comes again after a crash, where its answer was lost, and where a process
 * was paused for longer than its lease; `key` tells. Nor an order between transactions. Nor what came and went between two
 * looks: a block that a reorg replaced, an end that `again: true` made undone. Nor stages before `sealed`.
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
 * @throws `INVALID` for an option that cannot be
 */
export function createOutbox(options: OutboxOptions): Outbox {
  return createOutboxIn(systemEnvironment, options)
}

/** Between two tries to take what another process has. */
const TAKE_MS = 2_000
const FAILING_MAX = 100
/** Of so many the oldest trouble is looked for. */
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
