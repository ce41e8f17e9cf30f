import { privateKeyToAccount } from 'viem/accounts'
import { openLane, type SimLaneOptions, transfer } from '../../api/sender/simLane.fixture.js'
import type { TxRequest } from '../../types/index.js'

export const DELEGATE = `0x${'de'.repeat(20)}` as const
/** The code of an account that delegates to it. */
export const DESIGNATOR = `0xef0100${DELEGATE.slice(2)}` as const
/** A real key, because the signatures of other accounts are verified. */
export const OTHER_KEY = '11'.repeat(32)
export const OTHER = privateKeyToAccount(`0x${OTHER_KEY}`)
export const own = { contractAddress: DELEGATE }

/** A transfer with delegations. */
export function authorizing(marker: number, authorize: TxRequest['authorize'] = [own]): TxRequest {
  return { ...transfer(marker), gas: 200_000n, authorize } as TxRequest
}

/** A lane on a chain with reth's rules, whose pending count is not informative. */
export const open = (options: SimLaneOptions = {}) => openLane({ chain: { rules: 'reth' }, ...options })
