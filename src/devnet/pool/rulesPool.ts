import type { Address, Hex } from 'viem'
import type { Clock, Random } from '../../clock.js'
import type { AnvilRpc } from '../anvilRpc.js'
import { fail, ok, type RpcReply, SERVER_ERROR } from '../serve/rpcTypes.js'
import { readAccountStates } from './accountStates.js'
import { type DecodedTx, decodeTx } from './decode.js'
import { type Arrival, createIntake, NODE_GONE } from './intake.js'
import { createParallelServing } from './parallelServing.js'
import { pick } from './pick.js'
import type { Pool, SignForeign } from './pool.js'
import type { Offer, PoolBook, PooledTx } from './poolBook.js'
import type { AccountState } from './poolRules.js'
import { recoverAll } from './recover.js'
import { waitingTx } from './waitingTx.js'

export type RulesPoolOptions = {
  readonly rpc: AnvilRpc
  readonly book: PoolBook
  /** Serves requests in parallel, as geth does; undefined serves them one after the other. */
  readonly parallel?: { readonly clock: Clock; readonly random: Random } | undefined
  readonly signForeign: SignForeign
}

/** An arrival after signature recovery; without an offer if the sender's signature is invalid. */
type Recovered = Arrival & { readonly request: object; readonly offer: Offer | undefined }

const STAGE_CHUNK = 200

/**
 * A pool with the rules of geth or Base. anvil's own pool has neither the 10% rule nor silent drops, so sent
 * transactions wait here, and anvil gets the transactions of the next flashblock just before it is made.
 */
export function createRulesPool(options: RulesPoolOptions): Pool {
  const { rpc, book, parallel } = options
  const doomed = new Set<Hex>()
  let states = new Map<Address, AccountState>()
  let epoch = 0
  let baseFee = 0n
  const serve = parallel === undefined ? admitAll : createParallelServing({ ...parallel, work: admitAll })

  async function take(batch: readonly Arrival[]): Promise<void> {
    const offers = await recovered(batch.map(({ send }) => send.tx))
    for (const [index, { send }] of batch.entries()) {
      const from = offers[index]?.from
      if (send.foreign && from !== undefined) await placeForeign(from)
    }
    await serve(
      batch.map((arrival, index) => ({ ...arrival, request: arrival.send.request, offer: offers[index] })),
    )
  }

  /** Recovers senders and authorities; undefined if the sender's signature is invalid. */
  async function recovered(txs: readonly DecodedTx[]): Promise<readonly (Offer | undefined)[]> {
    const signers = await recoverAll(
      rpc,
      txs.flatMap(({ signature, authorizations }) => [signature, ...authorizations]),
    )
    let at = 0
    return txs.map((tx) => {
      const [from, ...authorities] = signers.slice(at, at + 1 + tx.authorizations.length)
      at += 1 + tx.authorizations.length
      if (from === undefined) return undefined
      return { tx, from, authorities: [...new Set(authorities)].filter((address) => address !== undefined) }
    })
  }

  async function admitAll(arrivals: readonly Recovered[]): Promise<void> {
    try {
      await withStates(
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

  // A state that was read belongs to one flashblock. If a flashblock arrived during the read, the state is
  // read again. `then` runs in the same turn as the check, so that every sender has a state.
  async function withStates(senders: readonly (Address | undefined)[], then: () => void): Promise<void> {
    const wanted = [...new Set(senders)].filter((from) => from !== undefined)
    for (;;) {
      const absent = wanted.filter((from) => !states.has(from))
      if (absent.length === 0) return then()
      const readAt = epoch
      const read = await readAccountStates(rpc, absent)
      if (readAt === epoch) for (const [from, state] of read) states.set(from, state)
    }
  }

  function admit({ send: { tx, fate }, offer }: Recovered): RpcReply {
    if (offer === undefined) return fail(SERVER_ERROR, 'invalid sender')
    if (fate === 'forget') return ok(tx.hash)
    const refusal = book.offer(offer, states.get(offer.from)!)
    if (refusal !== undefined) return fail(SERVER_ERROR, refusal)
    if (fate === 'evict') doomed.add(tx.hash)
    return ok(tx.hash)
  }

  async function placeForeign(from: Address): Promise<void> {
    let nonce = 0
    await withStates([from], () => {
      nonce = states.get(from)!.nonce
    })
    const raw = await options.signForeign(from, nonce)
    if (raw !== undefined) await inject(raw)
  }

  async function inject(raw: Hex): Promise<void> {
    const tx = decodeTx(raw)
    if (tx === undefined) return
    const [offer] = await recovered([tx])
    if (offer === undefined) return
    await withStates([offer.from], () => book.put({ ...offer, foreign: true }, states.get(offer.from)!))
  }

  let staged: readonly PooledTx[] = []

  async function stage(baseFeePerGas: bigint, gasAvailable: bigint): Promise<void> {
    for (const hash of doomed) book.remove(hash)
    doomed.clear()
    book.reorganise()
    baseFee = baseFeePerGas
    staged = pick(book.runs(), baseFeePerGas, gasAvailable)
    const chunks = []
    for (let at = 0; at < staged.length; at += STAGE_CHUNK) chunks.push(staged.slice(at, at + STAGE_CHUNK))
    await Promise.all(
      chunks.map((chunk) =>
        rpc.batch(chunk.map(({ tx }) => ({ method: 'eth_sendRawTransaction', params: [tx.raw] }))),
      ),
    )
  }

  async function settle(): Promise<() => void> {
    const fresh = new Map<Address, AccountState>()
    // Senders that arrive during the reads are read in a further round.
    for (;;) {
      const absent = book.senders().filter((from) => !fresh.has(from))
      if (absent.length === 0) break
      for (const [from, state] of await readAccountStates(rpc, absent)) fresh.set(from, state)
    }
    const wereStaged = staged
    staged = []
    const left = () => wereStaged.filter(({ tx }) => book.get(tx.hash) !== undefined)
    // anvil keeps the transactions that it could not execute; its pool must be empty before every flashblock.
    if (wereStaged.length > 0) await rpc.call('anvil_dropAllTransactions')
    return () => {
      epoch += 1
      states = new Map(fresh)
      // The fee of the latest block approximates the next one. It only ranks the transactions that a full
      // pool drops.
      book.refresh(fresh, baseFee)
      // These transactions were sent to anvil, are next in line, and were not executed: anvil will never
      // accept them.
      for (const { tx, from } of left()) {
        if (fresh.get(from)?.nonce === tx.nonce) book.remove(tx.hash)
      }
    }
  }

  return {
    submit: createIntake(take),
    stage,
    settle,
    evict: async (hash) => book.remove(hash),
    inject: async (raw) => {
      await inject(raw)
      book.reorganise()
    },
    async readmit(raws) {
      const offers = await recovered(raws.map(decodeTx).filter((tx) => tx !== undefined))
      await withStates(
        offers.map((offer) => offer?.from),
        () => {
          for (const offer of offers) {
            // A transaction that took the nonce of a removed one in the pool stays there.
            if (offer === undefined || book.holds(offer.from, offer.tx.nonce)) continue
            book.put({ ...offer, foreign: false }, states.get(offer.from)!)
          }
          book.reorganise()
        },
      )
    },
    waiting: (hash) => {
      const entry = book.get(hash)
      return entry && waitingTx(entry)
    },
    contentFrom(from) {
      const parts = book.parts(from.toLowerCase() as Address)
      const shown = (entries: readonly PooledTx[]) =>
        Object.fromEntries(entries.map((entry) => [String(entry.tx.nonce), waitingTx(entry)]))
      return { pending: shown(parts.pending), queued: shown(parts.queued) }
    },
    runEnd: (from) => book.runEnd(from.toLowerCase() as Address),
    list: async () => [...book.entries()].map(({ tx, from }) => ({ hash: tx.hash, from, nonce: tx.nonce })),
  }
}
