import type { TimedFault } from '../sim/port/timedFault.js'

/** One way in which one endpoint errs for a time. `endpoint`: by index. */
export type Fault = TimedFault & { readonly endpoint: number }
