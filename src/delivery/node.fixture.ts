import type { Chance } from './chance.fixture.js'
import { createGethPool, GETH_LIMITS } from './gethPool.fixture.js'
import type { NetworkOptions } from './networkOptions.fixture.js'
import type { SendAnswer } from './settle.js'
import type { VirtualTime } from './virtualTime.fixture.js'

/** A refresh as the follower sees it. */
export type Seen = { readonly latest: number; readonly confirmedTo: number; readonly sealed: boolean }

/** The node behind the network: its pool, its blocks and its rate limit. */
export type Node = {
  receive(nonce: number): SendAnswer
  /** Undefined if the rate limit refuses the call. */
  count(): number | undefined
  /** The node restarts with an empty pool, and keeps its blocks. */
  restart(): void
  follow(listener: (seen: Seen) => void): void
  /** The account's nonces in sealed blocks. */
  readonly sealed: number
}

const ACCOUNT = 'own'

export function createNode(options: NetworkOptions, time: VirtualTime, chance: Chance): Node {
  const { faults, node, blockMs, refreshMs } = options
  const { happens, lose, losses, random, wayMs } = chance
  const isLimited = createRateLimit(options.callsPerSecond, time)
  let pool = createGethPool(options.limits ?? GETH_LIMITS)
  // The sequencer's next nonce; the account's nonces in pre-confirmed and in sealed blocks.
  let taken = 0
  let confirmed = 0
  let sealed = 0
  let isDirty = false
  let follower: (seen: Seen) => void = () => {}

  function isDenied(): boolean {
    if (!isLimited()) return false
    losses.copies++
    return true
  }

  function pooled(nonce: number): SendAnswer {
    const added = pool.add(ACCOUNT, nonce)
    if (added === 'underpriced') {
      lose(1)
      return { kind: 'full' }
    }
    if (added === 'added' && !isDirty) {
      isDirty = true
      time.at(options.promotionMs * random(), () => {
        isDirty = false
        reorganise()
      })
    }
    return added === 'known' ? { kind: 'taken', isKnown: true } : { kind: 'taken' }
  }

  function reorganise(): void {
    const { dropped } = pool
    pool.reorganise()
    losses.copies += pool.dropped - dropped
    if (pool.dropped > dropped) losses.events++
  }

  function ordered(nonce: number): SendAnswer {
    if (nonce > taken) {
      losses.copies++
      return { kind: 'gapped', expected: taken, nonceMax: undefined }
    }
    if (nonce === taken) taken++
    return { kind: 'taken' }
  }

  function advance(): void {
    const { dropped } = pool
    pool.advance(ACCOUNT, sealed)
    losses.copies += pool.dropped - dropped
  }

  function refresh(isSealed: boolean): void {
    if (isSealed && options.resetsFirst) advance()
    const ready = node === 'geth' ? (pool.pending(ACCOUNT).at(-1) ?? -1) + 1 : taken
    confirmed = Math.max(confirmed, Math.min(ready, confirmed + options.capacity))
    if (isSealed) {
      sealed = confirmed
      advance()
    }
    const seen = { latest: sealed, confirmedTo: confirmed, sealed: isSealed }
    time.at(wayMs(), () => follower(seen))
  }

  let refreshes = 0
  const perBlock = refreshMs === undefined ? 1 : Math.round(blockMs / refreshMs)
  function tick(): void {
    refresh(++refreshes % perBlock === 0)
    time.at(refreshMs ?? blockMs, tick)
  }
  time.at((refreshMs ?? blockMs) * random(), tick)

  return {
    receive(nonce) {
      if (isDenied()) return { kind: 'limited' }
      if (happens(faults.swallowed)) {
        lose(1)
        return { kind: 'taken' }
      }
      return node === 'geth' ? pooled(nonce) : ordered(nonce)
    },
    count() {
      if (isDenied()) return undefined
      return node === 'geth' ? pool.count(ACCOUNT) : confirmed
    },
    restart() {
      losses.events++
      losses.copies += pool.pending(ACCOUNT).length + pool.queued(ACCOUNT).length + taken - confirmed
      pool = createGethPool(options.limits ?? GETH_LIMITS)
      pool.advance(ACCOUNT, confirmed)
      taken = confirmed
    },
    follow(listener) {
      follower = listener
    },
    get sealed() {
      return sealed
    },
  }
}

/** Whether a call exceeds the limit of its second. */
function createRateLimit(callsPerSecond: number | undefined, time: VirtualTime): () => boolean {
  let secondEndsMs = 0
  let callsLeft = 0
  return () => {
    if (callsPerSecond === undefined) return false
    if (time.nowMs >= secondEndsMs) {
      secondEndsMs = time.nowMs + 1_000
      callsLeft = callsPerSecond
    }
    return --callsLeft < 0
  }
}
