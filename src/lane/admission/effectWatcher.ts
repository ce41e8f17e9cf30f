import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { createPauses } from '../../platform/pauses.js'
import { encodeSlot } from '../../rpc/methods/arguments.js'
import { readPendingState } from '../../rpc/methods/pendingState.js'
import type { Limits } from '../../types/index.js'
import type { StoredNeeds } from '../../types/store.js'
import { update } from '../transaction/changes.js'
import { hasReached, type Transaction } from '../transaction/transaction.js'

/** Watches the pre-confirmed state for the declared effects of transactions (`deploys`, `effect`). */
export type EffectWatcher = {
  /**
   * Records, before the first send, whether the effect is still missing. An effect that is present already
   * would prove nothing. Undefined if there is nothing to record.
   */
  recordBaseline(transaction: Transaction): Promise<void> | undefined
  /** `seen` resolves once the effect is present. It never resolves if the effect proves nothing. */
  watch(transaction: Transaction): { readonly seen: Promise<void>; stop(): void }
  /** Looks at the watched effects now. Never rejects: a failed read is repeated at the usual pace. */
  look(): Promise<void>
}

/**
 * Limit for the baseline read. The read only makes dependents faster, so it must not delay the send for long.
 */
const BASELINE_MS = 1_000
/** Longest pause between looks while no effect is present yet. */
const LOOK_MS_MAX = 4_000

export function createEffectWatcher(context: {
  readonly endpointPool: Pick<EndpointPool, 'reader'>
  readonly clock: Clock
  readonly limits: Limits
  readonly changed: Set<Transaction>
}): EffectWatcher {
  const { endpointPool, clock, limits } = context
  const watched = new Map<Transaction, Set<() => void>>()
  let looking = false
  const pauses = createPauses({
    paceMs: () => limits.pollIntervalMs,
    maxMs: LOOK_MS_MAX,
  })

  async function isPresent({ deploys, effect }: StoredNeeds, timeoutMs: number): Promise<boolean> {
    const { port, profile } = endpointPool.reader
    const places = [
      ...(deploys === undefined ? [] : [{ address: deploys }]),
      ...(effect === undefined ? [] : [{ ...effect, slot: encodeSlot(effect.slot) }]),
    ]
    const values = await readPendingState(port, profile, places, { timeoutMs, compares: true })
    const isDeployed = deploys === undefined || values[0] !== '0x'
    return isDeployed && (effect === undefined || values.at(-1) === effect.value.toLowerCase())
  }

  /**
   * Whether the pending state counts as pre-confirmed. The pending state of some nodes is only a guess from
   * their own pool.
   */
  function isPreconfirmedState(): boolean {
    const { pending } = endpointPool.reader.profile.current()
    return pending === 'preconfirmed' || pending === 'latest'
  }

  async function look(): Promise<void> {
    const out = [...watched.keys()].filter((one) => one.record.needs?.missing && hasReached(one, 'signed'))
    if (!isPreconfirmedState() || out.length === 0) return
    const looks = await Promise.allSettled(
      out.map(async (one) => {
        if (await isPresent(one.record.needs ?? {}, limits.readTimeoutMs))
          for (const seen of watched.get(one) ?? []) seen()
      }),
    )
    // A failed read is repeated. The sealed block will show the effect too.
    if (looks.some(({ status }) => status === 'rejected')) pauses.failed()
    else pauses.fruitless()
  }

  function plan(): void {
    if (looking || watched.size === 0) return
    looking = true
    clock.setTimer(() => {
      void look().finally(() => {
        looking = false
        plan()
      })
    }, pauses.nextMs())
  }

  return {
    look,
    recordBaseline(transaction) {
      const { needs, hash } = transaction.record
      if (needs?.deploys === undefined && needs?.effect === undefined) return undefined
      if (needs.missing !== undefined || hash !== undefined || transaction.notes?.previouslySigned)
        return undefined
      if (endpointPool.reader.profile.current().pending === 'absent') return undefined
      return isPresent(needs, Math.min(BASELINE_MS, limits.readTimeoutMs)).then(
        (isThere) => {
          update(transaction, { needs: { ...needs, missing: !isThere } })
          context.changed.add(transaction)
        },
        () => {},
      )
    },
    watch(transaction) {
      let stop = () => {}
      const seen = new Promise<void>((resolve) => {
        const { needs } = transaction.record
        if (needs?.deploys === undefined && needs?.effect === undefined) return
        const seens = watched.get(transaction) ?? new Set()
        watched.set(transaction, seens.add(resolve))
        pauses.reset()
        stop = () => {
          seens.delete(resolve)
          if (seens.size === 0) watched.delete(transaction)
        }
        plan()
      })
      return { seen, stop: () => stop() }
    },
  }
}
