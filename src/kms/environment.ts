import { type Clock, type Random, systemClock, systemRandom } from '../platform/clock.js'

/** What an account of a service runs on. */
export type KmsEnvironment = { readonly clock: Clock; readonly random: Random }

export const systemEnvironment: KmsEnvironment = { clock: systemClock, random: systemRandom }
