import type { Chain, Client, FeeValues, Transport } from 'viem'

/**
 * The tip that is offered for inclusion, from the last ten blocks that paid a tip: the median of the tip at
 * the 10th percentile of their gas (`economy`), the 50th (`normal`) or the 90th (`urgent`).
 */
export type FeePreset = 'economy' | 'normal' | 'urgent'

/**
 * The maximum that a lane spends on fees, in wei, over a sliding window. It counts gas and the OP-stack data
 * fee, but not the value of transactions. A field that is left out sets no limit.
 */
export type FeeBudget = {
  /** Maximum in the last 60 minutes, in wei. */
  perHourWei?: bigint | undefined
  /** Maximum in the last 24 hours, in wei. */
  perDayWei?: bigint | undefined
}

/** The fees that a lane may offer, and how it estimates them. */
export type FeePolicy<chain extends Chain = Chain> = {
  /**
   * The maximum price per gas that the lane offers by itself, in wei. Transactions stop two bump steps below
   * it; those two steps are reserved for no-ops. If a request or `speedUp` names higher fees, the ceilings of
   * its nonce rise above these fees: by two steps for the transaction (less with a `feeCeiling`, or the
   * ceiling of its group), and by two more for a no-op. @default 10 × the first estimate
   */
  ceiling?: Partial<FeeValues> | undefined
  /**
   * How soon transactions without fees and without a `feePreset`, and no-ops, are to be included. The lanes
   * of an endpoint pool share one `eth_feeHistory` call for each block in which at least one transaction is
   * signed. If the fee history is unavailable, or no block of the last ten paid a tip, each preset equals the
   * node's suggestion. On a chain without a base fee, the presets are 1, 1.2 and 1.5 times the node's gas
   * price. If `estimate`, or the chain's definition in viem, gives the fees, these are used.
   *
   * Not guaranteed: the position in the block. The nonces of an account are included in order, so an urgent
   * transaction waits for the lower nonces, whatever they offer. @default the node's suggestion
   * (`eth_maxPriorityFeePerGas`)
   */
  preset?: FeePreset | undefined
  /**
   * For each group (option `group` of `send`): the maximum price per gas of its transactions, in wei. It
   * binds as the `feeCeiling` of a transaction does. The lowest of the two and the lane's ceiling applies.
   */
  groups?: Readonly<Record<string, { ceiling?: Partial<FeeValues> | undefined }>> | undefined
  /**
   * While the next transaction could bring the fees above the budget, the lane has the hold `feeBudget` and
   * takes no new nonces. Bumps and no-ops for in-flight nonces continue and are counted; they may exceed the
   * budget. An in-flight transaction counts with its maximum cost. A landed one counts with its receipt if a
   * caller asked for that, else with its gas limit at the price of its block. After a restart the fees are
   * summed from the store's records, by the time at which each transaction was sent. @default no limit
   */
  budget?: FeeBudget | undefined
  /** Replaces the built-in estimate, for every preset. Called at most once per block. */
  estimate?: ((parameters: { client: Client<Transport, chain> }) => Promise<FeeValues>) | undefined
  /**
   * `percent`: the minimum raise of both fees (@default 10). `attemptsMax`: the number of bumps of one
   * transaction. After that many bumps without success a no-op replaces the transaction, as at its ceiling,
   * unless `speedUp` asks for another bump (@default 12).
   */
  bump?: { percent?: number | undefined; attemptsMax?: number | undefined } | undefined
}

/**
 * The fee options that `setFees` can change while a lane runs. A field that is given replaces the former
 * value as a whole; an empty object restores the default, or removes the limit or the groups. A field that is
 * left out stays.
 */
export type FeeChange = Pick<FeePolicy, 'ceiling' | 'preset' | 'groups' | 'budget'>
