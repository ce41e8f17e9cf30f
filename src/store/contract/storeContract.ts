import type { Store } from '../../types/store.js'
import { arrivals } from './arrivals.js'
import { commands, enqueue, restart } from './intake.js'
import { chains, fencing, leases } from './leases.js'
import { find, list } from './lookups.js'
import { outboxes } from './outboxes.js'
import { reports } from './reports.js'
import { watch } from './watch.js'
import { createWorld, sleep } from './world.js'
import { hand, reopen, writes } from './writes.js'

/** Functions that the cases need for the store under test. */
export type StoreContractOptions = {
  /**
   * Opens a store for one case. It may open the same database for each, because no two cases share a lane.
   */
  open: () => Promise<Store> | Store
  /**
   * Opens another store on the same records, as another process would. Without it every case has a single
   * store, and persistence across stores is not tested.
   */
  reopen?: ((store: Store) => Promise<Store> | Store) | undefined
  /** Advances the clock that measures leases by this many milliseconds. @default waits in real time */
  elapse?: ((ms: number) => Promise<void> | void) | undefined
  /**
   * Sets that clock back by this many milliseconds, or has the same effect by moving the ends of the existing
   * leases ahead. Without it the cases about a stepping clock are left out.
   */
  setBack?: ((ms: number) => Promise<void> | void) | undefined
}

/** One promise of the interface. `run` rejects with an explanation if the store breaks it. */
export type StoreContractCase = {
  /** The promise. */
  readonly name: string
  /**
   * Tests whether the store keeps it.
   *
   * @throws Error that describes the difference
   */
  run(): Promise<void>
}

/**
 * The requirements of txlane for a store, as cases for any test runner. It does not prove that a store is
 * durable; for that, cut the power.
 *
 * @example
 * const open = async () => (await import('txlane')).memoryStore()
 * // With a test runner: `for (const { name, run } of storeContract({ open })) it(name, run)`
 * for (const { run } of storeContract({ open })) await run()
 */
export function storeContract(options: StoreContractOptions): readonly StoreContractCase[] {
  const { open, reopen: again, elapse = sleep, setBack } = options
  const all = [
    ...chains,
    ...leases,
    ...reports,
    ...fencing,
    ...writes,
    ...enqueue,
    ...restart,
    ...hand,
    ...arrivals,
    ...commands,
    ...watch,
    ...find,
    ...list,
    ...outboxes,
    ...reopen,
  ]
  return all
    .filter(({ shared }) => shared === undefined || again !== undefined)
    .filter(({ stepped }) => stepped === undefined || setBack !== undefined)
    .map(({ name, run }) => ({
      name,
      async run() {
        const store = await open()
        const other = again === undefined ? store : await again(store)
        try {
          await run(
            createWorld(store, other, {
              elapse: async (ms) => elapse(ms),
              setBack: async (ms) => setBack?.(ms),
            }),
          )
        } finally {
          await store.close()
          if (other !== store) await other.close()
        }
      },
    }))
}
