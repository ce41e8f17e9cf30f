import type { TimedFault } from '../sim/port/timedFault.js'

/** A period in which one endpoint errs in one way. `endpoint` is an index. */
export type Fault = TimedFault & { readonly endpoint: number }
