import type { Member } from '../sender/member.js'
import type { sweep } from './sweep.js'
import type { createTreasury } from './treasury.js'
import type { findUnready } from './unready.js'

/** The functions of the runtime that a pool uses. */
export type PoolRuntime = {
  readonly sweep: typeof sweep
  readonly createTreasury: typeof createTreasury
  readonly findUnready: typeof findUnready
}

export const poolRuntime = (member: Pick<Member, 'runtime'>) => member.runtime() as Promise<PoolRuntime>
