import { type Environment, processEnvironment } from '../chain/environment.js'
import { createLoader } from '../platform/lazy.js'

const loadRuntime = createLoader('The code that lanes run on', () => import('./runtime.js'))

/** The environment of lanes outside simulations: clock, random numbers and registry of this process. */
export function systemEnvironment(): Environment & { runtime: typeof loadRuntime } {
  return { ...processEnvironment(), runtime: loadRuntime }
}
