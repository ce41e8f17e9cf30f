import type { Lane } from '../../allocator/lane.js'
import { readBalances } from '../../chain/endpoints/balances.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import type { Clock } from '../../platform/clock.js'
import { createOneAtATime } from '../../platform/oneAtATime.js'
import type { Repeats } from '../../platform/repeats.js'
import type { Limits } from '../../types/index.js'
import type { FeeOracle } from './feeOracle.js'

/** That the account cannot pay, as the endpoint that is read shows balance and prices. */
export type Shortage = {
  readonly needed: bigint
  readonly balanceWei: bigint
  /** Its fees are signed: only the balance can be wrong. */
  readonly isPriced: boolean
}

/**
 * Whether other endpoints bear out that the account cannot pay: each is asked for the balance, and for prices where
 * nothing is signed yet. What they deny holds nothing, and the endpoint that is read is doubted.
 */
export type ShortageCheck = {
  /** False while the others are asked, and for a while after one of them has denied it. */
  confirms(shortage: Shortage): boolean
  /** The account can pay: the next shortage is another one. */
  forget(): void
}

/** Between two questions about a shortage that was denied. */
const DENIED_MS = 2_000

/** @param heard more is known of the shortage that was asked about */
export function createShortageCheck(
  context: {
    readonly lane: Lane
    readonly endpointPool: EndpointPool
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
  let deniedByAllWei: bigint | undefined
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
    else deniedByAllWei = needed
    heard()
  }

  function deny(why: string): void {
    deniedAtMs = clock.now()
    endpointPool.doubt(why)
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
      const isConfirmed = deniedByAllWei !== undefined && shortage.needed >= deniedByAllWei
      if (isConfirmed || endpointPool.others().length === 0) return true
      if (clock.now() - deniedAtMs >= DENIED_MS) asking.run(() => ask(shortage))
      return false
    },
    forget() {
      deniedByAllWei = undefined
    },
  }
}
