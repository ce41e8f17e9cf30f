import type { Address } from 'viem'
import { decoded } from '../../chain/blocks/tickParts.js'
import { readBalances } from '../../chain/endpoints/balances.js'
import type { PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import { isTxlaneError } from '../../errors/base.js'
import type { OpenLane } from '../../ownership/open.js'
import type { CancelTimer } from '../../platform/clock.js'
import { reportError } from '../../platform/reportError.js'
import { decodeHeader, headerCall } from '../../rpc/codec.js'
import { hasEndedUnexecuted } from '../../store/ended.js'
import type { StoredTransaction } from '../../types/store.js'
import type { Member } from '../sender/member.js'
import type { TreasuryPolicy } from './payments.js'

/** Reads the balances of the accounts, at once and then periodically, and pays the accounts that have too little. */
export type Treasury = {
  /** Checks the balances soon, because an account has run out of money. */
  checkSoon(): void
  stop(): void
}

/** The group of all payments. It distinguishes them from other transactions of the treasury account. */
const GROUP = 'txlane:treasury'
const EVERY_MS = 10_000
/** The last payment to each account is searched among this number of newest payments. */
const PAGE = 500
/** The minimum time between two checks, for any number of `checkSoon` calls. */
const REST_MS = 1_000

/**
 * Only the process that owns the treasury's lane pays. The id of each payment follows from the id of the payment before
 * it. A process that was suspended and continues as if it still owned the lane therefore names the same payment
 * again and adds none. A balance counts only if its block includes the previous payment to the account.
 */
export function createTreasury(parts: {
  readonly member: Member
  readonly options: TreasuryPolicy
  /** The accounts that it pays. */
  readonly addresses: () => readonly Address[]
}): Treasury {
  const { member, options, addresses } = parts
  const { background } = member
  const { below, upTo, everyMs = EVERY_MS } = options
  let timer: CancelTimer | undefined
  let looking = false
  let again = false
  let stopped = false

  function plan(delayMs: number): void {
    timer?.()
    if (!stopped) timer = background.setTimer(run, delayMs)
  }

  function run(): void {
    if (stopped || looking) return
    looking = true
    again = false
    lookNow()
      .catch(failed)
      .finally(() => {
        looking = false
        plan(again ? REST_MS : everyMs)
      })
  }

  let lane: OpenLane | undefined
  function failed(error: unknown): void {
    if (lane && !stopped) reportError(lane.session, error)
  }

  async function lookNow(): Promise<void> {
    lane = await member.warm()
    const poor = await poorAmong(lane, addresses(), below)
    if (poor.length === 0 || stopped || !(await isHolder(lane))) return
    const paid = await newestPayments(lane)
    for (const { address, balanceWei, head } of poor) {
      const last = paid.get(address)
      if (stopped || (last && !isOver(last, head))) continue
      const id = `${GROUP}:${address}:${last === undefined ? 1 : numberOf(last) + 1}`
      const request = { to: address, value: upTo - balanceWei }
      await member.start(request, { id, group: GROUP, starved: 'wait' })
    }
  }

  plan(0)
  return {
    checkSoon() {
      again = true
      if (!looking) plan(0)
    },
    stop() {
      stopped = true
      timer?.()
    },
  }
}

type Poor = { readonly address: Address; readonly balanceWei: bigint; readonly head: number }

/** The accounts that have too little at every endpoint. One endpoint that alone shows too little moves no money. */
async function poorAmong(lane: OpenLane, all: readonly Address[], below: bigint): Promise<readonly Poor[]> {
  const { endpointPool } = lane
  const poor = await balancesAtHead(lane, endpointPool.reader, all)
  const asked = poor.filter(({ balanceWei }) => balanceWei < below)
  if (asked.length === 0) return []
  const addresses = asked.map(({ address }) => address)
  const elsewhere = await Promise.all(
    endpointPool.others().map((endpoint) => balancesAtHead(lane, endpoint, addresses)),
  )
  const heard = elsewhere.flat()
  // If there are other endpoints, at least one of them must confirm the balance.
  const isKnown = (address: Address) =>
    elsewhere.length === 0 || heard.some((other) => other.address === address)
  return asked.filter(
    ({ address }) =>
      isKnown(address) && heard.every((other) => other.address !== address || other.balanceWei < below),
  )
}

/** Reads all balances at one block, which shows the payments that they include. */
async function balancesAtHead(
  { limits }: OpenLane,
  { port }: Pick<PoolEndpoint, 'port'>,
  addresses: readonly Address[],
): Promise<readonly Poor[]> {
  const { readTimeoutMs: timeoutMs } = limits
  const [reply] = await port.batch([headerCall('latest')], { timeoutMs })
  const head = decoded(reply, decodeHeader)?.number ?? undefined
  if (head === undefined) return []
  const balances = await readBalances(port, addresses, { timeoutMs, at: head })
  return addresses.flatMap((address, index) => {
    const balanceWei = balances[index]
    return balanceWei === undefined ? [] : [{ address, balanceWei, head }]
  })
}

/** Whether this process may pay. It takes the lease of the lane if no process owns it. */
async function isHolder({ ownership }: OpenLane): Promise<boolean> {
  try {
    await ownership.hold()
    return true
  } catch (error) {
    if (isTxlaneError(error) && error.code === 'LEASE_LOST') return false
    throw error
  }
}

async function newestPayments({ store, key }: OpenLane): Promise<ReadonlyMap<string, StoredTransaction>> {
  const { items } = await store.list([key], { group: GROUP, limit: PAGE })
  // The store lists the newest first. Reversed, so that the newest payment of each account stays in the map.
  return new Map(items.map((one) => [addressOf(one), one] as const).reverse())
}

/**
 * Whether the payment has ended: it was not executed, or it is past any reorg and included in the balance at `head`.
 */
function isOver({ stage, verdict, block }: StoredTransaction, head: number): boolean {
  if (hasEndedUnexecuted(stage)) return true
  return verdict === 'landed' && block !== undefined && block.number <= head
}

const partsOf = ({ id }: StoredTransaction) => id.slice(GROUP.length + 1).split(':')
const addressOf = (one: StoredTransaction) => partsOf(one)[0] as Address
const numberOf = (one: StoredTransaction) => Number(partsOf(one)[1])
