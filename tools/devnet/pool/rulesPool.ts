import type { Address, Hex } from 'viem'
import { type Clock, nextTurn, type Random } from '../../../src/platform/clock.js'
import type { AnvilRpc } from '../rpc/anvilRpc.js'
import { type DecodedTx, decodeTx } from '../rpc/decode.js'
import { fail, hexOf, ok, type RpcObject, type RpcReply, SERVER_ERROR } from '../rpc/rpcTypes.js'
import { createStateCache } from './accountStates.js'
import { type Arrival, createIntake, NODE_GONE } from './intake.js'
import type { Pool, SignForeign } from './pool.js'
import type { Offer, PoolBook, PooledTx } from './poolBook.js'
import { recoverOffers } from './recover.js'
import { createStaging } from './staging.js'

type RulesPoolOptions = {
  readonly rpc: AnvilRpc
  readonly book: PoolBook
  /** Serves requests in parallel, as geth does; undefined serves them one after the other. */
  readonly parallel?: { readonly clock: Clock; readonly random: Random } | undefined
  readonly signForeign: SignForeign
}

// Codes of EIP-7966: not added for lack of funds or room, and not added because of a nonce gap.
const NOT_READY = 5
const NONCE_GAP = 6
const UNREADY = /^insufficient funds|^txpool is full|in-flight transaction limit/

/** An arrival after signature recovery; without an offer if the sender's signature is invalid. */
type Recovered = Arrival & { readonly request: object; readonly offer: Offer | undefined }

/**
 * A pool with the rules of geth or Base. anvil's own pool has neither the 10% rule nor silent drops, so sent
 * transactions wait here, and anvil gets the transactions of the next flashblock just before it is made.
 */
export function createRulesPool(options: RulesPoolOptions): Pool {
  const { rpc, book, parallel } = options
  const states = createStateCache(rpc)
  const staging = createStaging(rpc, book, states)
  const doomed = new Set<Hex>()
  const serve = parallel === undefined ? admitAll : createParallelServing({ ...parallel, work: admitAll })

  async function take(batch: readonly Arrival[]): Promise<void> {
    const offers = await recoverOffers(
      rpc,
      batch.map(({ send }) => send.tx),
    )
    for (const [index, { send }] of batch.entries()) {
      const from = offers[index]?.from
      if (send.foreign && from !== undefined) await placeForeign(from)
    }
    await serve(
      batch.map((arrival, index) => ({ ...arrival, request: arrival.send.request, offer: offers[index] })),
    )
  }

  async function admitAll(arrivals: readonly Recovered[]): Promise<void> {
    try {
      await states.withStates(
        arrivals.map(({ offer }) => offer?.from),
        () => {
          for (const arrival of arrivals) arrival.answer(admit(arrival))
          // geth does this in the background, and nearly always finishes before the next call.
          book.reorganise()
        },
      )
    } catch {
      for (const { answer } of arrivals) answer(NODE_GONE)
    }
  }

  function admit({ send: { tx, fate, refusesUnready }, offer }: Recovered): RpcReply {
    if (offer === undefined) return fail(SERVER_ERROR, 'invalid sender')
    if (fate === 'forget') return ok(tx.hash)
    const expected = book.runEnd(offer.from) ?? states.get(offer.from).nonce
    if (refusesUnready && tx.nonce > expected) {
      return fail(
        NONCE_GAP,
        `nonce too high: expected nonce ${expected}, tx nonce ${tx.nonce}`,
        hexOf(expected),
      )
    }
    const refusal = book.offer(offer, states.get(offer.from))
    if (refusal !== undefined) {
      return refusesUnready && UNREADY.test(refusal) ? fail(NOT_READY, refusal) : fail(SERVER_ERROR, refusal)
    }
    if (fate === 'evict') doomed.add(tx.hash)
    return ok(tx.hash)
  }

  async function placeForeign(from: Address): Promise<void> {
    let nonce = 0
    await states.withStates([from], () => {
      nonce = states.get(from).nonce
    })
    const raw = await options.signForeign(from, nonce)
    if (raw !== undefined) await inject(raw)
  }

  async function inject(raw: Hex): Promise<void> {
    const tx = decodeTx(raw)
    if (tx === undefined) return
    const [offer] = await recoverOffers(rpc, [tx])
    if (offer === undefined) return
    await states.withStates([offer.from], () => book.put({ ...offer, foreign: true }, states.get(offer.from)))
  }

  async function readmit(raws: readonly Hex[]): Promise<void> {
    const txs = raws.map(decodeTx).filter((tx) => tx !== undefined)
    const offers = await recoverOffers(rpc, txs)
    await states.withStates(
      offers.map((offer) => offer?.from),
      () => {
        for (const offer of offers) {
          // A transaction that took the nonce of a removed one in the pool stays there.
          if (offer === undefined || book.holds(offer.from, offer.tx.nonce)) continue
          book.put({ ...offer, foreign: false }, states.get(offer.from))
        }
        book.reorganise()
      },
    )
  }

  return {
    submit: createIntake(take),
    async stage(baseFeePerGas, gasAvailable) {
      for (const hash of doomed) book.remove(hash)
      doomed.clear()
      book.reorganise()
      await staging.stage(baseFeePerGas, gasAvailable)
    },
    settle: staging.settle,
    evict: async (hash) => book.remove(hash),
    inject: async (raw) => {
      await inject(raw)
      book.reorganise()
    },
    readmit,
    ...viewsOf(book),
  }
}

function viewsOf(book: PoolBook): Pick<Pool, 'waiting' | 'contentFrom' | 'runEnd' | 'list'> {
  const shown = (entries: readonly PooledTx[]) =>
    Object.fromEntries(entries.map((entry) => [String(entry.tx.nonce), waitingTx(entry)]))
  return {
    waiting(hash) {
      const entry = book.get(hash)
      return entry && waitingTx(entry)
    },
    contentFrom(from) {
      const { pending, queued } = book.parts(from.toLowerCase() as Address)
      return { pending: shown(pending), queued: shown(queued) }
    },
    runEnd: (from) => book.runEnd(from.toLowerCase() as Address),
    list: async () => [...book.entries()].map(({ tx, from }) => ({ hash: tx.hash, from, nonce: tx.nonce })),
  }
}

/** One call of a request that is being served. */
type Served = { readonly request: object }

// Maximum calls of one request that geth executes before another request gets its turn.
const STEP_CALLS_MAX = 16

/**
 * Serves requests in parallel, with the calls of each request in order, as geth serves the requests of one
 * client. The next request is drawn at random, so that batches interleave, and a later request may end before
 * an earlier one.
 */
function createParallelServing<T extends Served>(options: {
  readonly clock: Clock
  readonly random: Random
  readonly work: (calls: readonly T[]) => Promise<void>
}): (calls: readonly T[]) => void {
  const { clock, random } = options
  const open = new Map<object, T[]>()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (open.size > 0) {
      const requests = [...open.keys()]
      const request = requests[Math.floor(random() * requests.length)] as object
      const calls = open.get(request) as T[]
      const step = calls.splice(0, 1 + Math.floor(random() * STEP_CALLS_MAX))
      if (calls.length === 0) open.delete(request)
      await options.work(step)
      // Other requests arrive in the meantime.
      await nextTurn(clock)
    }
    isRunning = false
  }

  return (calls) => {
    for (const call of calls) {
      const waiting = open.get(call.request)
      if (waiting === undefined) open.set(call.request, [call])
      else waiting.push(call)
    }
    if (!isRunning) void run()
  }
}

const TYPES = { legacy: '0x0', eip2930: '0x1', eip1559: '0x2', eip7702: '0x4' }

/** A waiting transaction in the format of `eth_getTransactionByHash`. */
function waitingTx({ tx, from }: PooledTx): RpcObject {
  return {
    type: TYPES[tx.type],
    ...(tx.chainId === undefined ? {} : { chainId: hexOf(tx.chainId) }),
    hash: tx.hash,
    nonce: hexOf(tx.nonce),
    blockHash: null,
    blockNumber: null,
    transactionIndex: null,
    from,
    to: tx.to ?? null,
    value: hexOf(tx.value),
    gas: hexOf(tx.gas),
    gasPrice: hexOf(tx.gasPrice ?? tx.maxFeePerGas),
    ...feesOf(tx),
    input: tx.data,
    ...(tx.type === 'legacy' ? {} : { accessList: tx.accessList, yParity: hexOf(tx.signature.yParity) }),
    v: hexOf(tx.type === 'legacy' ? legacyV(tx) : tx.signature.yParity),
    r: tx.signature.r,
    s: tx.signature.s,
  }
}

function feesOf(tx: DecodedTx): RpcObject {
  if (tx.gasPrice !== undefined) return {}
  return { maxFeePerGas: hexOf(tx.maxFeePerGas), maxPriorityFeePerGas: hexOf(tx.maxPriorityFeePerGas) }
}

function legacyV({ chainId, signature }: DecodedTx): number {
  return chainId === undefined ? 27 + signature.yParity : chainId * 2 + 35 + signature.yParity
}
