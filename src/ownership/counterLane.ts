import { counterLaneAddress } from '../allocator/countRecords.js'
import { chainOf } from '../chain/endpoints/chainOf.js'
import { defaultStore, type Environment, identityOf } from '../chain/environment.js'
import type { Clock } from '../platform/clock.js'
import { raceAbort } from '../platform/onAbort.js'
import { closedWhileOpening, type Held, hold } from '../platform/registry.js'
import type { CounterPlace } from '../types/laneReports.js'
import { chainName, type LaneKey, type Lease, type Store } from '../types/store.js'
import {
  type ContractSource,
  type CounterTerm,
  type CounterUser,
  counterErrors,
  recoverCounter,
} from './counterTerm.js'
import { heartbeatOf } from './heartbeat.js'
import { holdEndpointPool, type OpenOptions } from './open.js'
import { createLeaseTaking, notOwnerError, type TakingPause, watchLease } from './terms.js'

/**
 * A counter in this process, shared by every allocator of the same contract, slot, chain and store. In the store it
 * is a lane of its own, with slots and no transactions.
 */
export type CounterLane = {
  readonly chainId: number
  /** The records of the lane outlive the process. */
  readonly isDurable: boolean
  readonly users: Set<CounterUser>
  /** The present term of this process, or its last one. */
  readonly term: CounterTerm | undefined
  /** Takes the counter if it is free. @throws `LEASE_LOST` while another process owns it */
  hold(): Promise<CounterTerm>
  /** Writes what is left to write, and gives the lease back. */
  stop(): Promise<void>
}

export async function openCounter(
  options: OpenOptions,
  source: ContractSource,
  environment: Environment,
): Promise<Held<CounterLane>> {
  const { shared } = environment
  const { closing } = options
  if (closing?.aborted) throw closedWhileOpening()
  const probed = await holdEndpointPool(options, environment)
  const { address, slot } = source.counter
  const store = options.store ?? defaultStore(shared)
  try {
    const chain = await chainOf(probed.value, store)
    const key: LaneKey = { ...chain, address: counterLaneAddress(source.counter) }
    const name = `counter ${chainName(chain)}:${address}/${slot}@${identityOf(shared, store)}`
    const open = async () => {
      const endpointPool = await holdEndpointPool(options, environment)
      return createCounterLane({ options, source, environment, store, key, endpointPool })
    }
    return await hold(shared.lanes, name, open, closing)
  } finally {
    await probed.release(() => probed.value.stop())
  }
}

type Parts = {
  readonly options: OpenOptions
  readonly source: ContractSource
  readonly environment: Environment
  readonly store: Store
  readonly key: LaneKey
  readonly endpointPool: Awaited<ReturnType<typeof holdEndpointPool>>
}

function createCounterLane(given: Parts): CounterLane {
  const { options, source, environment, store, key, endpointPool: held } = given
  const endpointPool = held.value
  const { clock, background = clock } = environment
  const heartbeat = heartbeatOf(environment, store)
  const users = new Set<CounterUser>()
  const pause: TakingPause = { untilMs: 0 }
  const errors = counterErrors(users, environment)
  let term: CounterTerm | undefined
  let last: CounterTerm | undefined
  let stops: (() => void)[] = []
  const leaving = new AbortController()

  async function recover(lease: Lease): Promise<void> {
    let isLost = false
    const lost = () => {
      isLost = true
      if (term?.lease === lease) end('LEASE_LOST')
    }
    // The lease is renewed from now on: to read the records may take longer than a lease lasts.
    const stopRenewing = heartbeat.hold(lease, { lost })
    try {
      const parts = {
        options,
        source,
        environment,
        endpointPool,
        store,
        lease,
        leaving: leaving.signal,
        users,
        lost,
      }
      const next = await recoverCounter(parts)
      if (isLost || leaving.signal.aborted) {
        next.end('CLOSED')
        throw notOwnerError()
      }
      begin(next, stopRenewing)
    } catch (error) {
      stopRenewing()
      throw error
    }
  }

  function begin(next: CounterTerm, stopRenewing: () => void): void {
    const { counter, flushed, lease } = next
    term = next
    last = next
    stops = [stopRenewing]
    // Only another process can use a counter that is given back, and it needs a store that outlives this process.
    if (!store.durable) return
    // The store knows a lane by a hash of contract and slot. Calls that need the store notice its failure.
    const report = { holds: [], counter: placeOf(source) }
    store.report([{ lease, report }]).catch(() => {})
    const work = {
      isIdle: () => next.isIdle,
      isFollowing: () => counter.pace() !== 'idle',
      flushed,
    }
    const stopWatching = watchLease(work, {
      endpointPool,
      clock,
      background,
      ttlMs: heartbeat.ttlMs,
      errors,
      isOwner: () => term === next && !leaving.signal.aborted,
      async giveBack(notBeforeMs) {
        if (notBeforeMs !== undefined) pause.untilMs = notBeforeMs
        end('LEASE_LOST')
        await store.release(lease)
      },
      endpointIsBack() {
        pause.untilMs = 0
      },
    })
    stops.unshift(stopWatching)
  }

  function end(code: 'LEASE_LOST' | 'CLOSED'): void {
    term?.end(code)
    term = undefined
    for (const stop of stops.splice(0)) stop()
  }

  const taking = createLeaseTaking({
    store,
    key,
    heartbeat,
    clock,
    pause,
    isOwner: () => (leaving.signal.aborted && term === undefined ? undefined : term !== undefined),
    recover,
  })

  return {
    chainId: endpointPool.chainId,
    isDurable: store.durable,
    users,
    get term() {
      return last
    },
    async hold() {
      if (term === undefined) await taking.take()
      if (term === undefined) throw notOwnerError()
      return term
    },
    async stop() {
      leaving.abort()
      await taking.settled()
      const open = term
      if (open !== undefined) await flush(open, clock, options.limits.closeTimeoutMs)
      const isOwner = term !== undefined
      end('CLOSED')
      errors.stop()
      if (open !== undefined && isOwner) await store.release(open.lease).catch(() => {})
      await held.release(() => endpointPool.stop())
    },
  }
}

function placeOf({ kind, counter, account, key }: ContractSource): CounterPlace {
  return { kind, contract: counter.address, slot: counter.slot, account, key }
}

/** A store that fails delays the end of the lane no longer than a sender's. */
async function flush(term: CounterTerm, clock: Clock, timeoutMs: number): Promise<void> {
  const limit = new AbortController()
  const cancel = clock.setTimer(() => limit.abort(), timeoutMs)
  await raceAbort(term.flushed(), [limit.signal]).catch(() => {})
  cancel()
}
