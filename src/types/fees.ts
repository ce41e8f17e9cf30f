import type { Chain, Client, FeeValues, Transport } from 'viem'

/**
 * What is offered for inclusion, by what the last ten blocks that paid a tip show: the median of the tip at the 10th
 * percentile of their gas (`economy`), the 50th (`normal`) or the 90th (`urgent`).
 */
export type FeePreset = 'economy' | 'normal' | 'urgent'

/**
 * The most that a lane spends on fees, in wei, over a window that slides: gas, and what the OP stack charges for data; not
 * the value. A field left out is not bounded.
 */
export type FeeBudget = {
  /** In the last 60 minutes. */
  perHourWei?: bigint | undefined
  /** In the last 24 hours. */
  perDayWei?: bigint | undefined
}

/** What a lane may offer, and how it finds that out. */
export type FeePolicy<chain extends Chain = Chain> = {
  /**
   * The most that the lane offers for a unit of gas by itself, in wei. Transactions stop two bump steps below it; those
   * two are kept for no-ops. Where a request or `speedUp` names more, the ceilings of its nonce are above what it names:
   * two steps for the transaction (less with a `feeCeiling`, or the ceiling of its group), two more for a no-op.
   * @default 10 × the first estimate
   */
  ceiling?: Partial<FeeValues> | undefined
  /**
   * How soon transactions are to be included that name neither fees nor a `feePreset`, and no-ops. Read with one
   * `eth_feeHistory` for each block in which something is signed, by all lanes of the endpoints together. Where it cannot be
   * had, or nobody paid a tip in ten blocks, each preset is what the node suggests; on a chain without a base fee 1, 1.2 or
   * 1.5 times the node's gas price; and where `estimate`, or the chain's definition in viem, says what gas costs, that.
   *
   * Not guaranteed: the place in the block. An account's nonces are included in their order: an urgent transaction waits for
   * those below it, whatever they offer. @default what the node suggests (`eth_maxPriorityFeePerGas`)
   */
  preset?: FeePreset | undefined
  /**
   * For each group (the `group` of `send`) the most that its transactions may offer for a unit of gas, in wei. It binds as
   * `feeCeiling` of a transaction does; of the two, and the lane's, the lowest counts.
   */
  groups?: Readonly<Record<string, { ceiling?: Partial<FeeValues> | undefined }>> | undefined
  /**
   * While the next transaction could bring the fees above it, the lane has the hold `feeBudget` and takes no new nonces. Bumps
   * and no-ops for what is in flight go on, and count: they may bring the fees above it. What is in flight counts with the most that it can
   * cost; what has landed with the receipt, where somebody asked for that, else with its gas limit at the price of its block.
   * After a restart it is taken from the store's records, by the time at which each transaction was sent. @default no bound
   */
  budget?: FeeBudget | undefined
  /** Replaces the estimate, for every preset. Called at most once per block. */
  estimate?: ((parameters: { client: Client<Transport, chain> }) => Promise<FeeValues>) | undefined
  /**
   * `percent`: the least raise of both fees (@default 10). `attemptsMax`: bumps of one transaction; after so many in
   * vain it makes way for a no-op, as at its ceiling, unless `speedUp` asks for another (@default 12).
   */
  bump?: { percent?: number | undefined; attemptsMax?: number | undefined } | undefined
}

/**
 * What `setFees` changes while a lane runs. What is named takes the place of what was there, as a whole: an empty object
 * stands for the default, no bound or no groups. What is left out stays.
 */
export type FeeChange = Pick<FeePolicy, 'ceiling' | 'preset' | 'groups' | 'budget'>
