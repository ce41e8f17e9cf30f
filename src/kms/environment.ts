import { type Clock, type Random, systemClock, systemRandom } from '../platform/clock.js'

/** The external dependencies of a service account. */
export type KmsEnvironment = { readonly clock: Clock; readonly random: Random }

export const systemEnvironment: KmsEnvironment = { clock: systemClock, random: systemRandom }
