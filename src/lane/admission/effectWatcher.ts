import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { createPauses } from '../../platform/pauses.js'
import { getCode, getStorageAt } from '../../rpc/methods/state.js'
import type { Limits } from '../../types/index.js'
import { hasReached, type Needs, type Transaction } from '../transaction/transaction.js'

/** Whether what transactions bring about (`deploys`, `effect`) stands in pre-confirmed state. */
export type EffectWatcher = {
  /**
   * Notes of one that is about to be sent for the first time that it is missing yet: what stands already would tell
   * nothing. Undefined where there is nothing to note.
   */
  recordBaseline(transaction: Transaction): Promise<void> | undefined
  /** `seen` resolves once it stands, and never where that tells nothing. */
  watch(transaction: Transaction): { readonly seen: Promise<void>; stop(): void }
}

/** Nothing may be kept from being sent for long by what only makes others faster. */
const NOTE_MS = 1_000
/** How often at least it is looked for what stands nowhere yet. */
const LOOK_MS_MAX = 4_000

export function createEffectWatcher(context: {
  readonly endpointPool: EndpointPool
  readonly clock: Clock
  readonly limits: Limits
  readonly changed: Set<Transaction>
}): EffectWatcher {
  const { endpointPool, clock, limits } = context
  const watched = new Map<Transaction, Set<() => void>>()
  let looking = false
  const pauses = createPauses({
    paceMs: () => endpointPool.reader.profile.current().cadenceMs ?? limits.pollIntervalMs,
    maxMs: LOOK_MS_MAX,
  })

  async function stands({ deploys, effect }: Needs, timeoutMs: number): Promise<boolean> {
    const { port } = endpointPool.reader
    const at = { block: 'pending', timeoutMs } as const
    const [code, value] = await Promise.all([
      deploys && getCode(port, { ...at, address: deploys }),
      effect && getStorageAt(port, { ...at, ...effect }),
    ])
    return code !== '0x' && value === effect?.value.toLowerCase()
  }

  /** Some nodes show there what they believe that their pool will do, which nobody has promised. */
  function promised(): boolean {
    const { pending, pendingState } = endpointPool.reader.profile.current()
    return (pending === 'preconfirmed' || pending === 'latest') && pendingState !== false
  }

  async function look(): Promise<void> {
    const out = [...watched.keys()].filter((one) => one.needs?.missing && hasReached(one, 'signed'))
    if (!promised() || out.length === 0) return
    const looks = await Promise.allSettled(
      out.map(async (one) => {
        if (await stands(one.needs ?? {}, limits.readTimeoutMs))
          for (const seen of watched.get(one) ?? []) seen()
      }),
    )
    // What cannot be read now is asked again; the block shows it too, in its time.
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
    recordBaseline(transaction) {
      const { needs, hash, previouslySigned: rebound } = transaction
      if (needs?.deploys === undefined && needs?.effect === undefined) return undefined
      if (needs.missing !== undefined || hash !== undefined || rebound) return undefined
      if (endpointPool.reader.profile.current().pending === 'absent') return undefined
      return stands(needs, Math.min(NOTE_MS, limits.readTimeoutMs)).then(
        (there) => {
          transaction.needs = { ...needs, missing: !there }
          context.changed.add(transaction)
        },
        () => {},
      )
    },
    watch(transaction) {
      let stop = () => {}
      const seen = new Promise<void>((resolve) => {
        if (transaction.needs?.deploys === undefined && transaction.needs?.effect === undefined) return
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
