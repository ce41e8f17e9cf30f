export { fateOf } from './errors.js'
export type { LaneSendOptions } from './laneSigner.js'
export { type LaneSigner, type LaneSignerOptions, laneSigner } from './laneSigner.js'
