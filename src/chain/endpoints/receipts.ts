import {
  formatTransactionReceipt,
  type Hash,
  type RpcTransactionReceipt,
  type TransactionReceipt,
} from 'viem'
import type { Clock } from '../../platform/clock.js'
import { createTurnBatch } from '../../platform/microtask.js'
import { type FoundReceipt, isReceiptError, readReceipts } from '../../rpc/methods/receipts.js'
import type { EndpointPool, PoolEndpoint } from './endpointPool.js'
import {
  type AskedAt,
  createMissingReceipts,
  type MissingReceipt,
  type NoReceipt,
} from './missingReceipts.js'

export type { MissingReceipt } from './missingReceipts.js'

type Block = { readonly number: number; readonly hash: Hash }

/**
 * Receipts for waiting callers. The requests of one turn share a batch. A missing receipt is asked for again at most once a
 * sealed block, in one batch for all waiting callers, with growing pauses; without blocks, by time.
 */
export type Receipts = {
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
      // By hash and with the whole block in alternation.
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

  function answerOf(found: FoundReceipt | undefined, one: Asked): Answer {
    if (found === undefined || found === null) return { said: 'it has no receipt' }
    if (isReceiptError(found))
      return { said: found.details ?? found.shortMessage, retryAfterMs: found.retryAfterMs }
    options.shown?.(found)
    try {
      const receipt = formatted(endpointPool.chain, found)
      const said = misfit(receipt, one)
      return said === undefined ? { receipt } : { said, misfit: true }
    } catch {
      return { said: 'its receipt cannot be decoded', misfit: true }
    }
  }

  /** The reason why a receipt does not fit: a replica that lags or forked has receipts of other blocks. */
  function misfit(receipt: TransactionReceipt, { hash, block, key }: Asked): string | undefined {
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
    find: (hash) => ask({ hash, block: undefined, key: undefined }),
    get: (hash, block) => ask({ hash, block, key: keyOf(hash, block) }),
    missing: (hash, block) => missing.get(keyOf(hash, block)),
    due: (hash, block) => missing.due(keyOf(hash, block)),
  }
}

/** The chain's own formatter decides which fields a receipt has: `l1Fee` on the OP stack, for example. */
function formatted({ formatters }: EndpointPool['chain'], raw: unknown): TransactionReceipt {
  const format = formatters?.transactionReceipt?.format ?? formatTransactionReceipt
  return format(raw as RpcTransactionReceipt, 'getTransactionReceipt') as TransactionReceipt
}

const wholeAt = (asks: number) => (asks === 0 ? undefined : asks % 2 === 1)

function keyOf(hash: Hash, block: Block | undefined): string {
  return `${hash} ${block?.hash ?? 'any'}`
}
