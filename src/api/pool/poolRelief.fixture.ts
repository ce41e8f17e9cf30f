import type { LocalAccount } from 'viem'
import { expect } from 'vitest'
import { isNoop } from '../../../test/sim/foreign.js'
import { createStubAccount } from '../../../test/sim/stubAccount.js'
import type { SimTransaction } from '../../../test/sim/transaction.js'
import { createShared, type Environment } from '../../chain/environment.js'
import { eventNames } from '../../lane/emitter.js'
import type { Sender, SenderEvents, TxRequest } from '../../types/index.js'
import { createMemberIn } from '../sender/sender.js'
import {
  nameOf,
  openLane,
  transfer as plain,
  type SimLane,
  type SimLaneOptions,
  withoutLane,
} from '../sender/simLane.fixture.js'
import type { TreasuryPolicy } from './payments.js'
import { createPool, type SenderPool } from './pool.js'

const GWEI = 10n ** 9n
export const ONE_ETHER = 10n ** 18n
/**
 * The maximum cost of a transfer in the tests, in wei. Its fee cap is given, so that it does not depend on the
 * market.
 */
export const TRANSFER_WEI = 21_000n * 10n * GWEI

/** A transfer that its marker identifies, with given gas and fees. */
export const transfer = (marker: number): TxRequest =>
  ({ ...plain(marker), maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }) as TxRequest

export const KEYS = ['a1', 'b2', 'c3'].map((byte) => `0x${byte.repeat(20)}` as const)

/** Pools of the same keys on one chain and one store, each in its own process. */
export type Pools = AsyncDisposable & {
  readonly lane: SimLane
  readonly pool: SenderPool
  /** The events that any sender of the first pool has emitted. */
  events(event: keyof SenderEvents): readonly Record<string, unknown>[]
  /** A pool in another process. `keys`: the number of its keys. */
  another(keys?: number): SenderPool
  /** The account of a key, also if the pool does not have it yet. */
  account(key: number): LocalAccount
  give(key: number, wei: bigint): void
  /** The executed transactions as `marker@key`, in the order of the chain. */
  executed(): readonly string[]
  /** The payments from one key to another, in the order of the chain. */
  paid(): readonly { readonly from: number; readonly to: number; readonly wei: bigint }[]
}

/**
 * Opens a pool with one key for each balance, or with the first `count` keys. A transaction that no key can pay for
 * waits, unless `starved` is given.
 */
export async function openPools(
  balances: readonly bigint[],
  {
    treasury,
    ...given
  }: SimLaneOptions & { readonly treasury?: TreasuryPolicy & { readonly key: number } } = {},
  count = balances.length,
): Promise<Pools> {
  const options: SimLaneOptions = { starved: 'wait', ...given }
  const keys = KEYS.slice(0, balances.length)
  const others = keys.map((address, index) => ({ address, nonce: 0, balanceWei: balances[index] ?? 0n }))
  const lane = await openLane({ ...options, others, closed: true })
  const { clock, chain } = lane
  chain.start()
  const reported: { event: string; payload: Record<string, unknown> }[] = []
  const pools: SenderPool[] = []

  function poolIn(environment: Environment, of: readonly (typeof keys)[number][]): SenderPool {
    const make = ({ address }: Pick<LocalAccount, 'address'>) =>
      createMemberIn(environment, { ...lane.parameters, account: createStubAccount(address, { clock }) })
    const members = of.map((address) => make({ address }))
    const payer = treasury && { ...treasury, address: keys[treasury.key] as (typeof keys)[number] }
    const pool = createPool(members, {
      starved: lane.parameters.starved,
      make,
      treasury: payer && { member: make(payer), options: payer },
    })
    pools.push(pool)
    return pool
  }

  const pool = poolIn(lane.environment, keys.slice(0, count))
  for (const event of eventNames)
    pool.on(event, (payload) => void reported.push({ event, payload: payload as Record<string, unknown> }))

  const keyOf = (address: string | null) => keys.indexOf(address as (typeof keys)[number])
  const all = () => chain.canonical.flatMap((block) => block.executed)
  const isPaid = ({ to, data }: SimTransaction) => data === '0x' && keyOf(to) >= 0
  const paid = () =>
    all()
      .filter(({ tx }) => isPaid(tx) && !isNoop(tx))
      .map(({ tx }) => ({ from: keyOf(tx.from), to: keyOf(tx.to), wei: tx.valueWei }))
  const executed = () =>
    all()
      .filter(({ tx }) => !isNoop(tx) && !isPaid(tx))
      .map(({ tx }) => `${nameOf(tx)}@${keys.indexOf(tx.from as (typeof keys)[number])}`)

  return {
    lane,
    pool,
    events: (event) =>
      reported.filter((one) => one.event === event).map(({ payload }) => withoutLane(payload)),
    account: (key) => createStubAccount(KEYS[key] as (typeof KEYS)[number], { clock }),
    another: (count = keys.length) =>
      poolIn({ ...lane.environment, shared: createShared() }, keys.slice(0, count)),
    give(key, wei) {
      const address = keys[key] as (typeof keys)[number]
      chain.adjust({ address, balanceWei: wei })
    },
    executed,
    paid,
    async [Symbol.asyncDispose]() {
      await lane.settle(Promise.all(pools.map((one: Sender) => one.close())))
      const markers = executed().map((name) => name.split('@')[0])
      expect(markers, 'P4: a transaction executed twice').toEqual([...new Set(markers)])
      await lane[Symbol.asyncDispose]()
    },
  }
}
