import type { Lane } from '../../allocator/lane.js'
import { readBalances } from '../../chain/endpoints/balances.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { createOneAtATime } from '../../platform/oneAtATime.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits } from '../../types/index.js'
import type { FeeOracle } from './feeOracle.js'

/** A finding that the account cannot pay, from the balance and prices of the reader. */
export type Shortage = {
  readonly needed: bigint
  readonly balanceWei: bigint
  /** The fees are signed already, so only the balance can be wrong. */
  readonly isPriced: boolean
}

/**
 * Checks with the other endpoints that the account cannot pay. Each is asked for the balance, and for prices
 * if nothing is signed yet. A shortage that they deny holds nothing, and the reader becomes suspect.
 */
export type ShortageCheck = {
  /** False while the other endpoints are asked, and for a while after one of them denied it. */
  confirms(shortage: Shortage): boolean
  /** The account can pay: the next shortage is checked separately. */
  forget(): void
}

/** Pause between two checks of a shortage that was denied. */
const DENIED_MS = 2_000

/** @param heard called when the check has a result */
export function createShortageCheck(
  context: {
    readonly lane: Lane
    readonly endpointPool: Pick<EndpointPool, 'doubtReader' | 'others'>
    readonly clock: Clock
    readonly fees: FeeOracle
    readonly limits: Limits
    readonly errors: Repeats<Error>
    readonly closed: boolean
  },
  heard: () => void,
): ShortageCheck {
  const { endpointPool, fees, clock, limits } = context
  // The cost for which no endpoint shows enough balance.
  let confirmedWei: bigint | undefined
  const asking = createOneAtATime(context)
  let deniedAtMs = Number.NEGATIVE_INFINITY

  async function ask({ needed, balanceWei, isPriced }: Shortage): Promise<void> {
    const [balances, isCheaper] = await Promise.all([
      balancesElsewhere(),
      isPriced ? false : fees.cheaperElsewhere(),
    ])
    if (context.closed) return
    const other = balances.find((wei) => wei >= needed)
    if (other !== undefined)
      deny(`the endpoint shows a balance of ${balanceWei} wei, and another endpoint ${other}`)
    else if (isCheaper) deny('the endpoint asks for more than the account has, and another endpoint for less')
    else confirmedWei = needed
    heard()
  }

  function deny(why: string): void {
    deniedAtMs = clock.now()
    endpointPool.doubtReader(why)
  }

  async function balancesElsewhere(): Promise<readonly bigint[]> {
    const own = [context.lane.key.address]
    const timeoutMs = limits.readTimeoutMs
    const balances = await Promise.all(
      endpointPool.others().map(({ port }) => readBalances(port, own, { timeoutMs })),
    )
    return balances.flat().filter((wei) => wei !== undefined)
  }

  return {
    confirms(shortage) {
      const isConfirmed = confirmedWei !== undefined && shortage.needed >= confirmedWei
      if (isConfirmed || endpointPool.others().length === 0) return true
      if (clock.now() - deniedAtMs >= DENIED_MS) asking.run(() => ask(shortage))
      return false
    },
    forget() {
      confirmedWei = undefined
    },
  }
}
