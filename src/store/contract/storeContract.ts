import type { Store } from '../../types/store.js'
import { arrivals } from './arrivals.js'
import { chains } from './chains.js'
import { enqueue } from './enqueue.js'
import { fencing } from './fencing.js'
import { find } from './find.js'
import { hand } from './hand.js'
import { leases } from './leases.js'
import { list } from './list.js'
import { outboxes } from './outboxes.js'
import { reopen } from './reopen.js'
import { reports } from './reports.js'
import { restart } from './restart.js'
import { watch } from './watch.js'
import { wishes } from './wishes.js'
import { createWorld, sleep } from './world.js'
import { writes } from './writes.js'

/** What the cases need of the store under test. */
export type StoreContractOptions = {
  /** Opens a store for one case, and may open the same database for each: no two cases share a lane. */
  open: () => Promise<Store> | Store
  /**
   * Opens another store on the records of this one, as another process would. Without it every case has one store
   * only, and what outlives a store is not looked at.
   */
  reopen?: ((store: Store) => Promise<Store> | Store) | undefined
  /** Lets so many milliseconds pass on the clock that leases are measured by. @default waits for them */
  elapse?: ((ms: number) => Promise<void> | void) | undefined
  /**
   * Sets that clock back by so many milliseconds, or makes the leases that there are look so: their ends are moved ahead.
   * Without it the cases about a clock that steps are left out.
   */
  setBack?: ((ms: number) => Promise<void> | void) | undefined
}

/** One promise of the interface: `run` rejects, and says what is wrong, where a store does not keep it. */
export type StoreContractCase = {
  /** What is promised. */
  readonly name: string
  /** Looks whether the store keeps it. @throws Error that says what was found instead */
  run(): Promise<void>
}

/**
 * What txlane expects of a store, as cases for any test runner. It does not prove that a store is durable: pull the
 * plug for that.
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
    ...wishes,
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
