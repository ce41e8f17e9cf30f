import type { SendAnswer } from './answer.js'
import { createGethPool, GETH_LIMITS, type GethLimits } from './gethPool.fixture.js'

/** A node behind a network, in virtual time. The seed determines everything that happens. */
export type NetworkOptions = {
  readonly seed: number
  /** `geth`: has geth's pool. `sequencer`: accepts the next nonce and refuses any other. */
  readonly node: 'geth' | 'sequencer'
  readonly limits?: GethLimits
  readonly blockMs: number
  /** Between two pre-confirmations. Undefined: there are none, and the follower only sees sealed blocks. */
  readonly refreshMs?: number | undefined
  /** How many transactions of this account one refresh, or one block, includes. */
  readonly capacity: number
  /** One way, without the jitter that is added to each message. */
  readonly latencyMs: number
  readonly jitterMs: number
  /** The time that the node needs for a call. It processes the requests of one client in parallel. */
  readonly callMs: number
  /** The time after which the client gives up a request. */
  readonly timeoutMs: number
  /** The time between a pool's answer and its reorganisation. */
  readonly promotionMs: number
  /**
   * The pool is reset before each block is built, as in `geth --dev` (`TxPool.Sync` in `eth/catalyst`):
   * transactions that are not executable by then are cut to the number that the pool keeps above a missing
   * nonce. @default false
   */
  readonly resetsFirst?: boolean | undefined
  readonly batchMax: number
  /** How the node refuses a larger batch. */
  readonly batchRefusal: 'said' | 'silent'
  /** The number of calls allowed per second; further calls are refused one by one. */
  readonly callsPerSecond?: number | undefined
  readonly faults: Faults
}

/** Probabilities per message, or per transaction for `swallowed`. */
export type Faults = {
  readonly requestLost: number
  readonly answerLost: number
  /** An immediate HTTP 503. */
  readonly unavailable: number
  readonly duplicated: number
  /** A message that takes twenty times as long. */
  readonly late: number
  /** The hash is returned, but the transaction is not pooled. */
  readonly swallowed: number
}

export const NO_FAULTS: Faults = {
  requestLost: 0,
  answerLost: 0,
  unavailable: 0,
  duplicated: 0,
  late: 0,
  swallowed: 0,
}

export type Reply =
  | { readonly end: 'answers'; readonly answers: readonly SendAnswer[]; readonly count: number | undefined }
  | { readonly end: 'batchRefused' }
  | { readonly end: 'failed' }

export type Losses = {
  /** How often the network or the node lost something. */
  events: number
  /** Copies of transactions that never entered the pool, or were dropped from it, and lost answers. */
  copies: number
}

const LATE_FACTOR = 20
const ACCOUNT = 'own'

export function createNetwork(options: NetworkOptions) {
  const { faults, node, blockMs, refreshMs } = options
  const random = createRandom(options.seed)
  const timers: { atMs: number; order: number; run: () => void }[] = []
  let pool = createGethPool(options.limits ?? GETH_LIMITS)
  const losses: Losses = { events: 0, copies: 0 }
  const denied = { requests: 0, calls: 0 }
  let nowMs = 0
  let orders = 0
  // The sequencer's next nonce; the account's nonces in pre-confirmed and in sealed blocks.
  let taken = 0
  let confirmed = 0
  let sealed = 0
  let rounds = 0
  let isDirty = false
  let secondEndsMs = 0
  let callsLeft = 0
  let follower: (refresh: { latest: number; confirmedTo: number; sealed: boolean }) => void = () => {}

  function at(delayMs: number, run: () => void): () => void {
    const timer = { atMs: nowMs + delayMs, order: orders++, run }
    timers.push(timer)
    return () => void timers.splice(0, timers.length, ...timers.filter((each) => each !== timer))
  }

  const happens = (chance: number) => chance > 0 && random() < chance
  /** A message that arrives much later than the others counts as lost, with all its transactions. */
  function wayMs(transactions = 0): number {
    const ms = options.latencyMs + random() * options.jitterMs
    if (!happens(faults.late)) return ms
    lose(transactions)
    return ms * LATE_FACTOR
  }

  function lose(transactions: number): void {
    losses.events++
    losses.copies += transactions
  }

  // --- the node ----------------------------------------------------------------------------------------

  function isLimited(): boolean {
    if (options.callsPerSecond === undefined) return false
    if (nowMs >= secondEndsMs) {
      secondEndsMs = nowMs + 1_000
      callsLeft = options.callsPerSecond
    }
    if (callsLeft > 0) {
      callsLeft--
      return false
    }
    denied.calls++
    losses.copies++
    return true
  }

  function receive(nonce: number): SendAnswer {
    if (isLimited()) return { kind: 'limited' }
    if (happens(faults.swallowed)) {
      lose(1)
      return { kind: 'taken' }
    }
    return node === 'geth' ? pooled(nonce) : ordered(nonce)
  }

  function pooled(nonce: number): SendAnswer {
    const added = pool.add(ACCOUNT, nonce)
    if (added === 'underpriced') {
      lose(1)
      return { kind: 'full' }
    }
    if (added === 'added' && !isDirty) {
      isDirty = true
      at(options.promotionMs * random(), () => {
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

  /** The node restarts with an empty pool, and keeps its blocks. */
  function restart(): void {
    losses.events++
    losses.copies += pool.pending(ACCOUNT).length + pool.queued(ACCOUNT).length + taken - confirmed
    pool = createGethPool(options.limits ?? GETH_LIMITS)
    pool.advance(ACCOUNT, confirmed)
    taken = confirmed
  }

  function count(): number {
    return node === 'geth' ? pool.count(ACCOUNT) : confirmed
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
    at(wayMs(), () => follower(seen))
  }

  let refreshes = 0
  const perBlock = refreshMs === undefined ? 1 : Math.round(blockMs / refreshMs)
  function tick(): void {
    refresh(++refreshes % perBlock === 0)
    at(refreshMs ?? blockMs, tick)
  }
  at((refreshMs ?? blockMs) * random(), tick)

  // --- the network
  // ------------------------------------------------------------------------------------------------

  /** Processes one call after the other, interleaved with other requests. */
  function serve(nonces: readonly number[], withCount: boolean, done: (reply: Reply) => void): void {
    const answers: SendAnswer[] = []
    const step = (): void => {
      const nonce = nonces[answers.length]
      if (nonce !== undefined) {
        answers.push(receive(nonce))
        at(options.callMs, step)
        return
      }
      done({ end: 'answers', answers, count: withCount && !isLimited() ? count() : undefined })
    }
    step()
  }

  function request(nonces: readonly number[], withCount: boolean, ended: (reply: Reply) => void): void {
    rounds++
    let isOver = false
    const end = (reply: Reply) => {
      if (isOver) return
      isOver = true
      cancel()
      if (reply.end === 'answers' && reply.answers.some(({ kind }) => kind === 'limited')) denied.requests++
      ended(reply)
    }
    const cancel = at(options.timeoutMs, () => end({ end: 'failed' }))
    if (happens(faults.unavailable)) {
      lose(nonces.length)
      at(2 * wayMs(), () => end({ end: 'failed' }))
      return
    }
    if (nonces.length + Number(withCount) > options.batchMax) {
      at(2 * wayMs(), () => end({ end: options.batchRefusal === 'said' ? 'batchRefused' : 'failed' }))
      lose(nonces.length)
      return
    }
    if (happens(faults.requestLost)) return lose(nonces.length)
    const arrive = () =>
      serve(nonces, withCount, (reply) => {
        if (happens(faults.answerLost)) return lose(nonces.length)
        at(wayMs(nonces.length), () => end(reply))
      })
    at(wayMs(nonces.length), arrive)
    if (happens(faults.duplicated)) at(wayMs() + random() * 100, arrive)
  }

  return {
    request,
    restart,
    follow(listener: typeof follower) {
      follower = listener
    },
    at,
    /** Runs until `isDone`. Returns false if that is not reached by `limitMs`. */
    run(isDone: () => boolean, limitMs: number): boolean {
      while (!isDone()) {
        let next = 0
        for (let index = 1; index < timers.length; index++) if (isSooner(index, next)) next = index
        const [timer] = timers.splice(next, 1)
        if (timer === undefined || timer.atMs > limitMs) return false
        nowMs = Math.max(nowMs, timer.atMs)
        timer.run()
      }
      return true
    },
    get nowMs() {
      return nowMs
    },
    get sealed() {
      return sealed
    },
    get confirmed() {
      return confirmed
    },
    /** Requests that left the client. */
    get requests() {
      return rounds
    },
    losses,
    denied,
  }

  function isSooner(a: number, b: number): boolean {
    const [one, other] = [timers[a], timers[b]]
    if (one === undefined || other === undefined) return false
    return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
  }
}

export type Network = ReturnType<typeof createNetwork>

/** mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
