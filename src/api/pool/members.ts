import type { Address } from 'viem'
import { invalid } from '../../errors/invalid.js'
import type { FindFundedLane } from '../../lane/session/laneSession.js'
import type { HoldReason } from '../../types/index.js'
import type { Member } from '../sender/member.js'

/** The accounts of a pool, and the choice between them for each transaction. */
export type Members = {
  /** Every account that the pool has ever had, in the order of their addition. */
  readonly all: readonly Member[]
  /** The accounts that are not retired. */
  readonly serving: readonly Member[]
  /** The accounts that take new transactions: not retired, and not being retired. */
  readonly taking: readonly Member[]
  find(address: unknown): Member | undefined
  /** @throws `INVALID` if the pool has no such account. `argument`: the name of the caller's argument, for the error */
  of(address: string, argument: string): Member
  /** The account with room that has the least load; without one, the account with the most room. Equals take turns. */
  freest(): Member
  /**
   * The account of an affinity, by the string alone. Another account is chosen only while a long hold stops that one.
   */
  nearest(affinity: string): Member
  /** Reads the reports of other processes about their lanes if the last read is old; undefined if there are none. */
  fresh(): Promise<void> | undefined
  /** Counts one more transaction as on its way into the lane until the work is done. */
  starting<T>(member: Member, work: () => Promise<T>): Promise<T>
  /** The account serves from now on, also if it was retired before. */
  add(member: Member): void
  /** The account gets no new transactions from now on; waiting ones that are not bound to it move to other accounts. */
  retire(member: Member): void
  /** The account has finished all its transactions. */
  retired(member: Member): void
}

/** The holds that stop a lane for longer than a moment. */
const OUT_OF_WORK: ReadonlySet<HoldReason> = new Set<HoldReason>([
  'paused',
  'starved',
  'jump',
  'deepReorg',
  'storeBehindChain',
  'storeReplaced',
  'feeBudget',
])

/** An older report is read again before an account is chosen and before a transaction moves to another lane. */
const FRESH_MS = 500

/** `refillWei`: the balance up to which a treasury refills each account; 0 without a treasury. */
export function createMembers(given: readonly Member[], refillWei = 0n): Members {
  const all: Member[] = []
  const leaving = new Map<Member, 'retiring' | 'retired'>()
  const starting = new Map<Member, number>()
  let turn = 0

  const roomOf = (member: Member): number => member.room() - (starting.get(member) ?? 0)
  const loadOf = (member: Member): number => member.load() + (starting.get(member) ?? 0)
  const taking = (): Member[] => all.filter((member) => !leaving.has(member))

  function isFreer(one: Member, other: Member): boolean {
    const [room, otherRoom] = [roomOf(one), roomOf(other)]
    return room > 0 && otherRoom > 0 ? loadOf(one) < loadOf(other) : room > otherRoom
  }

  /** Transactions that `idle` cannot send go to the account with the most room that can pay, in any process. */
  function placesBeside(idle: Member): FindFundedLane {
    void members.fresh()
    const places = taking().flatMap((member) => {
      const lane = member === idle || member.holds().length > 0 ? undefined : member.lane()
      return lane ? [{ ...lane, room: roomOf(member), spareWei: lane.worker.unreservedBalanceWei ?? 0n }] : []
    })
    let later: boolean | undefined
    return (costWei, not) => {
      const left = places.filter(({ key }) => !not.includes(key.address))
      const fit = left.filter(({ room, spareWei }) => room > 0 && spareWei > costWei)
      const place = fit.reduce((best, one) => (best && best.room >= one.room ? best : one), fit[0])
      if (place === undefined) {
        later ??= lookForMoney(idle)
        const isLater = later || costWei < refillWei || left.some(({ room }) => room <= 0)
        return isLater ? 'later' : undefined
      }
      place.room--
      place.spareWei -= costWei
      place.worker.give(costWei)
      return place.key
    }
  }

  /** True if another account may have money: its balance may be newer than the reading, or its lane is not open yet. */
  function lookForMoney(idle: Member): boolean {
    const others = taking().filter((member) => member !== idle && !member.closed())
    const looking = others.map((member) => {
      if (!member.opened()) void member.sender.ready().catch(() => {})
      return member.lane()?.worker.requestBalance() ?? true
    })
    return looking.includes(true)
  }

  const members: Members = {
    all,
    get serving() {
      return all.filter((member) => leaving.get(member) !== 'retired')
    },
    get taking() {
      return taking()
    },
    find: (address) =>
      typeof address === 'string'
        ? all.find(({ sender }) => sender.address.toLowerCase() === address.toLowerCase())
        : undefined,
    of(address, argument) {
      const found = members.find(address)
      if (found === undefined || leaving.get(found) === 'retired')
        throw invalid(argument, address, "one of the pool's accounts")
      return found
    },
    freest() {
      const free = taking().filter((member) => member.holds().length === 0)
      const choice = free.length > 0 ? free : taking()
      const start = turn++ % choice.length
      const turned = [...choice.slice(start), ...choice.slice(0, start)]
      return turned.reduce((best, member) => (isFreer(member, best) ? member : best))
    },
    nearest(affinity) {
      const isOut = (member: Member) => member.holds().some((reason) => OUT_OF_WORK.has(reason))
      const fit = taking().filter((member) => !isOut(member))
      const addresses = (fit.length > 0 ? fit : taking()).map(({ sender }) => sender.address)
      return members.of(nearestTo(affinity, addresses) as Address, 'affinity')
    },
    fresh() {
      // One read serves all lanes of the store.
      for (const member of all) {
        const lane = member.lane()
        if (lane) return lane.reports.fresh(FRESH_MS)
      }
      return undefined
    },
    async starting(member, work) {
      starting.set(member, (starting.get(member) ?? 0) + 1)
      try {
        return await work()
      } finally {
        starting.set(member, (starting.get(member) ?? 1) - 1)
      }
    },
    add(member) {
      leaving.delete(member)
      if (all.includes(member)) return
      all.push(member)
      member.rebalanceBy({
        places: () => placesBeside(member),
        lanes: () => all.flatMap((one) => one.counts() ?? []),
        get isLeaving() {
          return leaving.has(member)
        },
      })
    },
    retire: (member) => void leaving.set(member, 'retiring'),
    retired: (member) => void leaving.set(member, 'retired'),
  }
  for (const member of given) members.add(member)
  return members
}

/**
 * Chooses the address for a string, by rendezvous hashing: every process chooses the same one. If an address is
 * missing, only its own strings go to another address.
 */
export function nearestTo<T extends string>(word: string, addresses: readonly T[]): T | undefined {
  const scores = addresses.map((address) => ({ address, score: scoreOf(`${word}@${address.toLowerCase()}`) }))
  return scores.reduce<(typeof scores)[number] | undefined>(
    (best, one) => (best !== undefined && best.score >= one.score ? best : one),
    undefined,
  )?.address
}

/** FNV-1a with one more mix of its bits. The same text has the same number in every process. */
function scoreOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
