import {
  formatTransactionReceipt,
  type Hash,
  type RpcTransactionReceipt,
  type TransactionReceipt,
} from 'viem'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import { queueMicro } from '../../platform/microtask.js'
import { type FoundReceipt, isReceiptError, readReceipts } from '../../rpc/methods/readReceipts.js'
import type { EndpointPool, PoolEndpoint } from './endpointPool.js'

type Block = { readonly number: number; readonly hash: Hash }

/**
 * Receipts for waiting callers. The requests of one turn share a batch. A receipt that is missing is asked for again
 * at most once a sealed block, in one batch for all that wait, with growing pauses; where no block comes, by time.
 */
export type Receipts = {
  /** Asked once, of the block that is being built as well as of sealed ones. `undefined`: the endpoint has none now. */
  look(hash: Hash): Promise<TransactionReceipt | undefined>
  /**
   * The receipt of a transaction in a sealed block. `undefined` where no endpoint that was asked has one that fits:
   * `missing` says why, and `due` when asking again is of use. Without a block any sealed receipt of the hash fits.
   */
  get(hash: Hash, block?: Block): Promise<TransactionReceipt | undefined>
  missing(hash: Hash, block?: Block): MissingReceipt | undefined
  /** Resolves when the receipt may be asked for again. `drop` ends the wait. */
  due(hash: Hash, block?: Block): { readonly promise: Promise<void>; readonly drop: () => void }
}

/** What is known of a receipt that nobody has shown. */
export type MissingReceipt = {
  /** When it was first asked for, in clock milliseconds. */
  readonly sinceMs: number
  /** How often an endpoint showed a receipt that contradicts the block: of another block or transaction. */
  readonly misfits: number
  /** What each endpoint last said of it, by the endpoint's name. */
  readonly said: ReadonlyMap<string, string>
}

type Missing = {
  sinceMs: number
  misfits: number
  said: Map<string, string>
  asks: number
  askedAtMs: number
  /** The newest block that was known when it was asked for. */
  askedAt: Hash | undefined
  pauseMs: number
  /** An endpoint asked to be left alone until then. */
  restUntilMs: number
  waiting: Set<() => void>
}

type Asked = {
  readonly hash: Hash
  readonly block: Block | undefined
  /** Where the receipt is to be of a sealed block. */
  readonly key: string | undefined
  readonly done: (receipt: TransactionReceipt | undefined) => void
}

/** What an endpoint said of one receipt. */
type Answer =
  | { readonly receipt: TransactionReceipt }
  | { readonly said: string; readonly misfit?: true; readonly retryAfterMs?: number | undefined }

const BATCH_MAX = 500
/** The first repetition comes with the next block; the pauses of the later ones double from here. */
const PAUSE_MS = 500
const PAUSE_MS_MAX = 16_000
/** Without a new block for so long, or for two block periods where that is longer, time alone makes it due. */
const SILENT_MS = 5_000
/** Nobody has asked for it for so long: it is forgotten. */
const FORGET_MS = 60_000
const WORDS_CHARS_MAX = 300

export type ReceiptsEndpointPool = Pick<EndpointPool, 'reader' | 'endpoints' | 'chain' | 'tracker'>

export function createReceipts(
  endpointPool: ReceiptsEndpointPool,
  options: {
    clock: Clock
    timeoutMs: number
    restMsMax: number
    /** As the node gave it. */
    shown?: (receipt: object) => void
  },
): Receipts {
  const { clock, timeoutMs } = options
  const missing = new Map<string, Missing>()
  let asked: Asked[] = []
  let scheduled = false
  let turn = 0
  let disarm: (() => void) | undefined
  let waiters = 0

  function ask(one: Omit<Asked, 'done'>): Promise<TransactionReceipt | undefined> {
    return new Promise((done) => {
      asked.push({ ...one, done })
      if (scheduled) return
      scheduled = true
      queueMicro(post)
    })
  }

  function post(): void {
    scheduled = false
    const all = asked
    asked = []
    for (let start = 0; start < all.length; start += BATCH_MAX) void read(all.slice(start, start + BATCH_MAX))
  }

  /** The endpoint that is read; and what it did not have before either is asked of another one as well. */
  async function read(all: readonly Asked[]): Promise<void> {
    const { reader } = endpointPool
    const at = { askedAtMs: clock.now(), askedAt: endpointPool.tracker.head?.hash }
    let rest = await askOf(reader, all, at)
    const again = rest.filter(({ key }) => (missing.get(key ?? '')?.asks ?? 0) > 1)
    const other = again.length > 0 ? otherThan(reader) : undefined
    if (other) rest = [...rest.filter((one) => !again.includes(one)), ...(await askOf(other, again, at))]
    for (const one of rest) one.done(undefined)
  }

  /** Another reading endpoint, each in its turn. */
  function otherThan(reader: PoolEndpoint): PoolEndpoint | undefined {
    const others = endpointPool.endpoints.filter(
      (one) => one !== reader && one.role !== 'send' && one.probed && !one.gate.isBlocked,
    )
    return others[turn++ % others.length]
  }

  /** Those of which it has no receipt that fits. */
  async function askOf(
    endpoint: PoolEndpoint,
    all: readonly Asked[],
    at: { readonly askedAtMs: number; readonly askedAt: Hash | undefined },
  ): Promise<readonly Asked[]> {
    const wanted = all.map(({ hash, block, key }) => ({
      hash,
      block: block?.number ?? (key === undefined ? ('pending' as const) : undefined),
      // By hash and with the block in turns.
      whole: wholeAt(missing.get(key ?? '')?.asks ?? 0),
    }))
    const found = await readReceipts(endpoint.port, { wanted, timeoutMs, priority: 'receipt' })
    const rest: Asked[] = []
    // What is missing is counted once for all who asked for it.
    const noted = new Set<string>()
    for (const one of all) {
      const answer = answerOf(found.get(one.hash), one)
      if ('receipt' in answer) {
        if (one.key !== undefined) shown(one.key)
        one.done(answer.receipt)
        continue
      }
      rest.push(one)
      if (one.key === undefined || noted.has(one.key)) continue
      noted.add(one.key)
      note(one.key, endpoint.port.name, answer, at)
    }
    return rest
  }

  function answerOf(found: FoundReceipt | undefined, one: Asked): Answer {
    if (found === undefined || found === null) return { said: 'it has no receipt' }
    if (isReceiptError(found))
      return { said: found.details ?? found.shortMessage, retryAfterMs: found.retryAfterMs }
    options.shown?.(found)
    try {
      const receipt = formatted(found)
      const said = misfit(receipt, one)
      return said === undefined ? { receipt } : { said, misfit: true }
    } catch {
      return { said: 'its receipt cannot be decoded', misfit: true }
    }
  }

  /** The chain's own formatter decides what a receipt holds (`l1Fee` on the OP stack, say). */
  function formatted(raw: unknown): TransactionReceipt {
    const format = endpointPool.chain.formatters?.transactionReceipt?.format ?? formatTransactionReceipt
    return format(raw as RpcTransactionReceipt, 'getTransactionReceipt') as TransactionReceipt
  }

  /** Why it is not the one that was asked for: a replica that lags or forked has receipts of other blocks. */
  function misfit(receipt: TransactionReceipt, { hash, block, key }: Asked): string | undefined {
    const { transactionHash, blockHash, blockNumber } = receipt
    if (transactionHash?.toLowerCase() !== hash) return `its receipt is of the transaction ${transactionHash}`
    if (block !== undefined && blockHash !== block.hash)
      return `its receipt is of the block ${blockHash}, and the transaction is in ${block.hash}`
    if (key === undefined || block !== undefined) return undefined
    const head = endpointPool.tracker.head?.number
    if (typeof blockNumber === 'bigint' && head !== undefined && blockNumber <= head) return undefined
    // Where the chain is not followed the newest block that is known may be old.
    endpointPool.tracker.wake()
    return `its receipt is of the block ${blockNumber}, above the newest that is known`
  }

  // --- what is missing -----------------------------------------------------------------------------------------

  function note(
    key: string,
    name: string,
    answer: Exclude<Answer, { receipt: unknown }>,
    { askedAtMs, askedAt }: { readonly askedAtMs: number; readonly askedAt: Hash | undefined },
  ): void {
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
    entry.restUntilMs = askedAtMs + Math.min(answer.retryAfterMs ?? 0, options.restMsMax)
    if (answer.misfit) entry.misfits++
    entry.said.set(name, answer.said.slice(0, WORDS_CHARS_MAX))
  }

  function forgetOld(now: number): void {
    for (const [key, { askedAtMs, waiting }] of missing)
      if (waiting.size === 0 && now - askedAtMs > FORGET_MS) missing.delete(key)
  }

  const silentMs = () => Math.max(SILENT_MS, 2 * (endpointPool.tracker.blockMs ?? 0))

  function isDue(entry: Missing): boolean {
    const now = clock.now()
    if (now < pausedUntilMs(entry)) return false
    return endpointPool.tracker.head?.hash !== entry.askedAt || now - entry.askedAtMs >= silentMs()
  }

  /** Lets go of those that are due, all in the same turn: one batch takes them. */
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
    if (waiters > 0) return
    disarm?.()
    disarm = undefined
  }

  /** Others may wait for the same receipt, with pauses of their own: they have it as soon as they ask. */
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
    const off = endpointPool.tracker.onHead(round)
    const cancel: CancelTimer = clock.setTimer(round, Math.max(1, atMs - clock.now()))
    disarm = () => {
      off()
      cancel()
    }
  }

  return {
    look: (hash) => ask({ hash, block: undefined, key: undefined }),
    get: (hash, block) => ask({ hash, block, key: keyOf(hash, block) }),
    missing: (hash, block) => missing.get(keyOf(hash, block)),
    due(hash, block) {
      const entry = missing.get(keyOf(hash, block))
      if (entry === undefined || isDue(entry)) return { promise: Promise.resolve(), drop() {} }
      let drop = () => {}
      const promise = new Promise<void>((done) => {
        entry.waiting.add(done)
        waiters++
        drop = () => {
          if (entry.waiting.delete(done)) waiters--
          if (waiters > 0) return
          disarm?.()
          disarm = undefined
        }
      })
      arm()
      return { promise, drop }
    },
  }
}

const wholeAt = (asks: number) => (asks === 0 ? undefined : asks % 2 === 1)

/** Pauses of one length end at the same moments, whenever they began: one batch takes what they held back. */
function pausedUntilMs({ askedAtMs, pauseMs, restUntilMs }: Missing): number {
  if (pauseMs === 0) return Math.max(askedAtMs, restUntilMs)
  const next = (Math.floor(askedAtMs / pauseMs) + 1) * pauseMs
  return Math.max(next - askedAtMs < pauseMs / 2 ? next + pauseMs : next, restUntilMs)
}

function keyOf(hash: Hash, block: Block | undefined): string {
  return `${hash} ${block?.hash ?? 'any'}`
}
