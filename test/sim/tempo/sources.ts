import { type Address, type Hash, type Hex, hexToBigInt } from 'viem'
import type { CounterOptions, NonceBook } from '../../../src/allocator/counter.js'
import type { NonceReadsOptions } from '../../../src/allocator/counterReads.js'
import { freedRecord, readRecords, recordOf } from '../../../src/allocator/countRecords.js'
import type { NonceGeometry } from '../../../src/allocator/geometry.js'
import { type NonceSource, storageNonce } from '../../../src/allocator/sources.js'
import type { BlockRef, Slot } from '../../../src/ledger/slot.js'
import type { ContractSource } from '../../../src/ownership/counterTerm.js'
import { batchReads } from '../../../src/rpc/batchReads.js'
import type { RpcReply } from '../../../src/rpc/port.js'
import { EXPIRING_KEY, getNonceData, NONCE_MANAGER, nonceSlot, parse, seenSlot } from './chain.js'

/** The sequence of an account behind a key: a counter in the storage of the precompile. */
export function keyedNonce({ account, key }: { account: Address; key: bigint }): NonceSource<bigint> {
  const slot = nonceSlot(account, key)
  return storageNonce({ address: NONCE_MANAGER, slot, getter: getNonceData(account, key) })
}

/** The set of an account's expiring nonces. All have the nonce 0; the numbers of the book identify them. */
export function expiringNonces({ account }: { account: Address }): ContractSource {
  return {
    kind: 'storage',
    counter: { address: NONCE_MANAGER, slot: nonceSlot(account, EXPIRING_KEY) },
    decode: hexToBigInt,
    getters: [],
    nonceOf: (number) => number,
    geometry: EXPIRING as NonceGeometry<unknown>,
  }
}

/** Whether a payload was seen, and the time of the newest block in seconds. */
type Reading = { readonly seen: ReadonlySet<Hash>; readonly time: number }

const EXPIRING: NonceGeometry<Reading> = {
  createBook: createExpiringBook,
  createReads({ reader, chainId, timeoutMs }: NonceReadsOptions, book) {
    function request() {
      const hashes = (book as ExpiringBook).watched()
      const seen = hashes.map((hash) => ({
        method: 'eth_getStorageAt',
        params: [NONCE_MANAGER, seenSlot(hash), 'latest'],
      }))
      return {
        calls: [{ method: 'eth_getBlockByNumber', params: ['latest', false] }, ...seen],
        read([block, ...words]: readonly (RpcReply | undefined)[]): Reading | undefined {
          if (!block?.ok || !words.every((one) => one?.ok)) return undefined
          const isSeen = (index: number) => BigInt(resultOf(words[index]) as Hex) > 0n
          const time = Number((resultOf(block) as { timestamp: Hex }).timestamp)
          return { time, seen: new Set(hashes.filter((_, index) => isSeen(index))) }
        },
      }
    }
    return {
      request,
      async readUntil(take) {
        for (let taken = false; !taken; ) {
          const asked = request()
          taken = take(await batchReads(reader().port, asked.calls, { chainId, timeoutMs }), asked)
        }
      },
    }
  },
}

const resultOf = (reply: RpcReply | undefined): unknown => (reply?.ok ? reply.result : undefined)

type ExpiringBook = NonceBook<Reading> & {
  /** The hashes of all payloads that may be used, or whose use a reorg may take back. */
  watched(): readonly Hash[]
}

type Ended = { readonly as: 'used' | 'expired'; readonly head: BlockRef | undefined }

/** No number waits for another one, and none is handed out twice while its payload may be public. */
function createExpiringBook({ limits, holder, finalTo, report, touched }: CounterOptions): ExpiringBook {
  type Member = Parameters<typeof recordOf>[0]['slot'] & { ended?: Ended }
  const members = new Map<bigint, Member>()
  const changed = new Set<bigint>()
  let next = 0n
  let time: number | undefined

  function put(number: bigint, member: Member | undefined): void {
    changed.add(number)
    if (member === undefined) members.delete(number)
    else members.set(number, member)
  }

  const outstanding = () =>
    [...members]
      .filter(([, { state, ended }]) => state === 'live' && ended === undefined)
      .map(([count, { attempts }]) => ({ count, attempts }))
  const validBefore = ({ attempts }: Member) => Math.max(...attempts.map(({ raw }) => parse(raw).validBefore))
  const isOpen = ({ state, ended }: Member) => state === 'open' || ended === undefined

  function record(number: bigint): Slot {
    const slot = members.get(number)
    if (slot === undefined) return freedRecord(number)
    return recordOf({ count: number, slot, isUsed: slot.ended !== undefined, at: slot.ended?.head }, holder)
  }

  return {
    take({ seen, time: now }, head) {
      time = now
      for (const [number, member] of members) {
        if (member.state === 'open') continue
        const isSeen = member.attempts.some(({ hash }) => seen.has(hash))
        const as = isSeen ? 'used' : now >= validBefore(member) ? 'expired' : undefined
        if (as !== undefined && member.ended === undefined) {
          put(number, { ...member, ended: { as, head } })
          report(as, number)
        } else if (as === undefined && member.ended !== undefined) {
          // Before the deadline, only a reorg takes the use back, or the deadline itself.
          put(number, { state: 'live', attempts: member.attempts })
          report('reorged', number)
        } else if (member.ended?.head !== undefined && member.ended.head.number <= finalTo())
          put(number, undefined)
      }
      if (changed.size > 0) touched()
    },
    hasRoom: (amount) => [...members.values()].filter(isOpen).length + amount <= limits.windowMax,
    reserve: (amount) =>
      Array.from({ length: amount }, () => {
        put(next, { state: 'open', attempts: [] })
        return next++
      }),
    commit(number, attempt) {
      const member = members.get(number)
      if (member === undefined || member.ended !== undefined) return false
      if (time === undefined || parse(attempt.raw).validBefore <= time) return false
      put(number, { state: 'live', attempts: [...member.attempts, attempt] })
      touched()
      return true
    },
    adopt: () => false,
    release(number) {
      if (members.get(number)?.state === 'open') put(number, undefined)
    },
    renew() {},
    get state() {
      const inFlight = [...members.values()].filter(isOpen).length
      return time === undefined ? undefined : { floor: 0n, cursor: next, holes: [], inFlight }
    },
    outstanding,
    watched: () => [...members.values()].flatMap(({ attempts }) => attempts.map(({ hash }) => hash)),
    restore(slots) {
      const { records, ended } = readRecords(slots, holder)
      for (const number of ended) changed.add(number)
      for (const { count, slot, isUsed, at } of records)
        members.set(count, isUsed ? { ...slot, ended: { as: 'used', head: at } } : slot)
      for (const number of [...ended, ...members.keys()]) if (number >= next) next = number + 1n
    },
    get: (number) => record(BigInt(number)),
    takeChanged() {
      const records = [...changed].map(record)
      changed.clear()
      return records
    },
    get hasChanged() {
      return changed.size > 0
    },
    isSettled: (upTo) =>
      [...members.values()].every(({ ended }) => (ended?.head?.number ?? Number.POSITIVE_INFINITY) <= upTo),
    pace: () => ([...members.values()].some(isOpen) ? 'cadence' : members.size > 0 ? 'block' : 'idle'),
    stop() {},
  }
}
