import { type Environment, processEnvironment } from '../chain/environment.js'
import { createLoader } from '../platform/lazy.js'

const loadRuntime = createLoader('The code that lanes run on', () => import('./runtime.js'))

/** The environment of lanes outside simulations: the clock, the random numbers and the registry of this process. */
export function systemEnvironment(): Environment & { runtime: typeof loadRuntime } {
  return { ...processEnvironment(), runtime: loadRuntime }
}
