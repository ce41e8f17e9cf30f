import type { Hash, TransactionReceipt } from 'viem'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import { createTurnBatch } from '../../platform/microtask.js'
import { formatReceipt } from '../../rpc/methods/getBlockReceipts.js'
import { type FoundReceipt, isReceiptError, readReceipts } from '../../rpc/methods/receipts.js'
import type { Tracker } from '../blocks/blockPoller.js'
import type { EndpointPool, PoolEndpoint } from './endpointPool.js'

type Block = { readonly number: number; readonly hash: Hash }

/**
 * Receipts for waiting callers. The requests of one turn share a batch. A missing receipt is asked for again at most once a
 * sealed block, in one batch for all waiting callers, with growing pauses; without blocks, by time.
 */
export type Receipts = {
  /** The receipt in the answer to a send. `undefined` if it is incomplete, or of another transaction. */
  read(raw: unknown, hash: Hash): TransactionReceipt | undefined
  /** Asks once, for a receipt of the pending block or of a sealed one. `undefined`: the endpoint has none now. */
  find(hash: Hash): Promise<TransactionReceipt | undefined>
  /**
   * The receipt of a transaction in a sealed block. `undefined` if no asked endpoint has one that fits: `missing` gives the
   * reasons, and `due` the time for the next try. Without a block any sealed receipt of the hash fits.
   */
  get(hash: Hash, block?: Block): Promise<TransactionReceipt | undefined>
  missing(hash: Hash, block?: Block): MissingReceipt | undefined
  /** Resolves when the receipt may be asked for again. `drop` ends the wait. */
  due(hash: Hash, block?: Block): { readonly promise: Promise<void>; readonly drop: () => void }
}

type Asked = {
  readonly hash: Hash
  readonly block: Block | undefined
  /** Set if the receipt has to be of a sealed block. */
  readonly key: string | undefined
  readonly done: (receipt: TransactionReceipt | undefined) => void
}

type Answer = { readonly receipt: TransactionReceipt } | NoReceipt

const BATCH_MAX = 500

export type ReceiptsEndpointPool = Pick<EndpointPool, 'reader' | 'endpoints' | 'chain' | 'tracker'>

export function createReceipts(
  endpointPool: ReceiptsEndpointPool,
  options: {
    clock: Clock
    timeoutMs: number
    restMsMax: number
    /** Called with each raw receipt. */
    shown?: (receipt: object) => void
  },
): Receipts {
  const { clock, timeoutMs } = options
  const tracker = () => endpointPool.tracker
  const missing = createMissingReceipts({ tracker, clock, restMsMax: options.restMsMax })
  const add = createTurnBatch<Asked>((all) => {
    for (let start = 0; start < all.length; start += BATCH_MAX) void read(all.slice(start, start + BATCH_MAX))
  })
  let turn = 0

  function ask(one: Omit<Asked, 'done'>): Promise<TransactionReceipt | undefined> {
    return new Promise((done) => add({ ...one, done }))
  }

  /** Asks the reader. Receipts that it did not have before either are also asked of another endpoint. */
  async function read(all: readonly Asked[]): Promise<void> {
    const { reader } = endpointPool
    const at = { askedAtMs: clock.now(), askedAt: endpointPool.tracker.head?.hash }
    let rest = await askOf(reader, all, at)
    const again = rest.filter(({ key }) => missing.asksOf(key) > 1)
    const other = again.length > 0 ? otherThan(reader) : undefined
    if (other) rest = [...rest.filter((one) => !again.includes(one)), ...(await askOf(other, again, at))]
    for (const one of rest) one.done(undefined)
  }

  /** Another endpoint that may be read, in rotation. */
  function otherThan(reader: PoolEndpoint): PoolEndpoint | undefined {
    const others = endpointPool.endpoints.filter(
      (one) => one !== reader && one.role !== 'send' && one.probed && !one.gate.isBlocked,
    )
    return others[turn++ % others.length]
  }

  /** Resolves with the requests for which the endpoint has no receipt that fits. */
  async function askOf(
    endpoint: PoolEndpoint,
    all: readonly Asked[],
    at: AskedAt,
  ): Promise<readonly Asked[]> {
    const wanted = all.map(({ hash, block, key }) => ({
      hash,
      block: block?.number ?? (key === undefined ? ('pending' as const) : undefined),
      // The requests alternate between the single receipt and the receipts of the whole block.
      whole: wholeAt(missing.asksOf(key)),
    }))
    const found = await readReceipts(endpoint.port, { wanted, timeoutMs, priority: 'receipt' })
    const rest: Asked[] = []
    // A missing receipt is counted once for all callers that asked for it.
    const noted = new Set<string>()
    for (const one of all) {
      const answer = answerOf(found.get(one.hash), one)
      if ('receipt' in answer) {
        if (one.key !== undefined) missing.shown(one.key)
        one.done(answer.receipt)
        continue
      }
      rest.push(one)
      if (one.key === undefined || noted.has(one.key)) continue
      noted.add(one.key)
      missing.note(one.key, endpoint.port.name, answer, at)
    }
    return rest
  }

  function answerOf(found: FoundReceipt | undefined, one: Omit<Asked, 'done'>): Answer {
    if (found === undefined || found === null) return { said: 'it has no receipt' }
    if (isReceiptError(found))
      return { said: found.details ?? found.shortMessage, retryAfterMs: found.retryAfterMs }
    options.shown?.(found)
    try {
      const receipt = formatReceipt(found, endpointPool.chain.formatters)
      const said = misfit(receipt, one)
      return said === undefined ? { receipt } : { said, misfit: true }
    } catch {
      return { said: 'its receipt cannot be decoded', misfit: true }
    }
  }

  /** The reason why a receipt does not fit: a replica that lags or forked has receipts of other blocks. */
  function misfit(
    receipt: TransactionReceipt,
    { hash, block, key }: Omit<Asked, 'done'>,
  ): string | undefined {
    const { transactionHash, blockHash, blockNumber } = receipt
    if (transactionHash?.toLowerCase() !== hash) return `its receipt is of the transaction ${transactionHash}`
    if (block !== undefined && blockHash !== block.hash)
      return `its receipt is of the block ${blockHash}, and the transaction is in ${block.hash}`
    if (key === undefined || block !== undefined) return undefined
    const head = endpointPool.tracker.head?.number
    if (typeof blockNumber === 'bigint' && head !== undefined && blockNumber <= head) return undefined
    // If no lane follows the chain, the newest known block may be old.
    endpointPool.tracker.wake()
    return `its receipt is of the block ${blockNumber}, above the newest that is known`
  }

  return {
    read(raw, hash) {
      if (typeof raw !== 'object' || raw === null) return undefined
      const answer = answerOf(raw as FoundReceipt, { hash, block: undefined, key: undefined })
      return 'receipt' in answer && isComplete(answer.receipt) ? answer.receipt : undefined
    },
    find: (hash) => ask({ hash, block: undefined, key: undefined }),
    get: (hash, block) => ask({ hash, block, key: keyOf(hash, block) }),
    missing: (hash, block) => missing.get(keyOf(hash, block)),
    due: (hash, block) => missing.due(keyOf(hash, block)),
  }
}

function isComplete({ status, blockNumber, logs }: Partial<TransactionReceipt>): boolean {
  const isKnown = status === 'success' || status === 'reverted'
  return isKnown && typeof blockNumber === 'bigint' && Array.isArray(logs)
}

const wholeAt = (asks: number) => (asks === 0 ? undefined : asks % 2 === 1)

function keyOf(hash: Hash, block: Block | undefined): string {
  return `${hash} ${block?.hash ?? 'any'}`
}

/** The state of a receipt that no endpoint has shown. */
export type MissingReceipt = {
  /** When it was first asked for, in clock milliseconds. */
  readonly sinceMs: number
  /** How often an endpoint showed a receipt that contradicts the block: of another block or transaction. */
  readonly misfits: number
  /** The last answer of each endpoint, by the name of the endpoint. */
  readonly said: ReadonlyMap<string, string>
}

type Missing = {
  sinceMs: number
  misfits: number
  said: Map<string, string>
  asks: number
  askedAtMs: number
  /** The newest known block when it was asked for. */
  askedAt: Hash | undefined
  pauseMs: number
  /** An endpoint asked for a pause until this time. */
  restUntilMs: number
  waiting: Set<() => void>
}

/** An answer without a receipt that fits. */
type NoReceipt = {
  readonly said: string
  readonly misfit?: true
  readonly retryAfterMs?: number | undefined
}

/** The time of a question, and the newest block then. */
type AskedAt = { readonly askedAtMs: number; readonly askedAt: Hash | undefined }

/** The first repetition comes with the next block; the pauses of the later ones double from here. */
const PAUSE_MS = 500
const PAUSE_MS_MAX = 16_000
/** Without a new block for so long, or for two block periods if that is longer, time alone makes a receipt due. */
const SILENT_MS = 5_000
/** A receipt that no caller has asked for during this time is forgotten. */
const FORGET_MS = 60_000
const WORDS_CHARS_MAX = 300

/** Receipts that were asked for in vain, by key, and when they are asked for again. */
type MissingReceipts = {
  get(key: string): MissingReceipt | undefined
  /** How often it was asked for in vain. */
  asksOf(key: string | undefined): number
  note(key: string, endpoint: string, answer: NoReceipt, at: AskedAt): void
  /** An endpoint has shown the receipt: every caller that waits for it may ask. */
  shown(key: string): void
  /** Resolves when the receipt may be asked for again. `drop` ends the wait. */
  due(key: string): { readonly promise: Promise<void>; readonly drop: () => void }
}

function createMissingReceipts(parts: {
  readonly tracker: () => Pick<Tracker, 'head' | 'blockMs' | 'onHead'>
  readonly clock: Clock
  readonly restMsMax: number
}): MissingReceipts {
  const { tracker, clock } = parts
  const missing = new Map<string, Missing>()
  let disarm: (() => void) | undefined
  let waiters = 0

  function note(key: string, name: string, answer: NoReceipt, { askedAtMs, askedAt }: AskedAt): void {
    let entry = missing.get(key)
    if (entry === undefined) {
      forgetOld(askedAtMs)
      entry = {
        sinceMs: askedAtMs,
        misfits: 0,
        said: new Map(),
        asks: 0,
        askedAtMs: 0,
        askedAt: undefined,
        pauseMs: 0,
        restUntilMs: 0,
        waiting: new Set(),
      }
      missing.set(key, entry)
    }
    if (entry.askedAtMs !== askedAtMs || entry.asks === 0) {
      entry.asks++
      entry.pauseMs = entry.asks === 1 ? 0 : Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (entry.asks - 2))
    }
    entry.askedAtMs = askedAtMs
    entry.askedAt = askedAt
    entry.restUntilMs = askedAtMs + Math.min(answer.retryAfterMs ?? 0, parts.restMsMax)
    if (answer.misfit) entry.misfits++
    entry.said.set(name, answer.said.slice(0, WORDS_CHARS_MAX))
  }

  function forgetOld(now: number): void {
    for (const [key, { askedAtMs, waiting }] of missing)
      if (waiting.size === 0 && now - askedAtMs > FORGET_MS) missing.delete(key)
  }

  const silentMs = () => Math.max(SILENT_MS, 2 * (tracker().blockMs ?? 0))

  function isDue(entry: Missing): boolean {
    const now = clock.now()
    if (now < pausedUntilMs(entry)) return false
    return tracker().head?.hash !== entry.askedAt || now - entry.askedAtMs >= silentMs()
  }

  /** Wakes the callers of all due receipts in the same turn, so that one batch takes them. */
  function round(): void {
    disarm?.()
    disarm = undefined
    for (const entry of [...missing.values()].filter((one) => one.waiting.size > 0 && isDue(one))) free(entry)
    arm()
  }

  function free({ waiting }: Missing): void {
    const all = [...waiting]
    waiting.clear()
    waiters -= all.length
    for (const done of all) done()
    stopIfIdle()
  }

  function shown(key: string): void {
    const entry = missing.get(key)
    missing.delete(key)
    if (entry) free(entry)
  }

  function arm(): void {
    if (disarm !== undefined || waiters === 0) return
    const waiting = [...missing.values()].filter((entry) => entry.waiting.size > 0)
    const atMs = Math.min(
      ...waiting.map((entry) => Math.max(pausedUntilMs(entry), entry.askedAtMs + silentMs())),
    )
    const off = tracker().onHead(round)
    const cancel: CancelTimer = clock.setTimer(round, Math.max(1, atMs - clock.now()))
    disarm = () => {
      off()
      cancel()
    }
  }

  function stopIfIdle(): void {
    if (waiters > 0) return
    disarm?.()
    disarm = undefined
  }

  return {
    get: (key) => missing.get(key),
    asksOf: (key = '') => missing.get(key)?.asks ?? 0,
    note,
    shown,
    due(key) {
      const entry = missing.get(key)
      if (entry === undefined || isDue(entry)) return { promise: Promise.resolve(), drop() {} }
      let drop = () => {}
      const promise = new Promise<void>((done) => {
        entry.waiting.add(done)
        waiters++
        drop = () => {
          if (entry.waiting.delete(done)) waiters--
          stopIfIdle()
        }
      })
      arm()
      return { promise, drop }
    },
  }
}

/** Pauses of one length end at the same moments, whenever they began, so that one batch takes all of their receipts. */
function pausedUntilMs({ askedAtMs, pauseMs, restUntilMs }: Missing): number {
  if (pauseMs === 0) return Math.max(askedAtMs, restUntilMs)
  const next = (Math.floor(askedAtMs / pauseMs) + 1) * pauseMs
  return Math.max(next - askedAtMs < pauseMs / 2 ? next + pauseMs : next, restUntilMs)
}
