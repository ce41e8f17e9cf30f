import type { Address, Hex } from 'viem'
import type { AnvilRpc } from '../anvilRpc.js'
import { fail, ok, type RpcReply, SERVER_ERROR } from '../serve/rpcTypes.js'
import { readAccountStates } from './accountStates.js'
import { decodeTx } from './decode.js'
import { type Arrival, createIntake } from './intake.js'
import { pick } from './pick.js'
import type { Pool, PoolSend, SignForeign } from './pool.js'
import { createPoolBook, type PooledTx } from './poolBook.js'
import { type AccountState, type PoolRules, refusedByItself } from './poolRules.js'
import { recoverAll } from './recover.js'
import { waitingTx } from './waitingTx.js'

export type RulesPoolOptions = {
  readonly rpc: AnvilRpc
  readonly rules: PoolRules
  readonly countMax: number
  readonly chainId: number
  readonly gasLimit: bigint
  readonly signForeign: SignForeign
}

const STAGE_CHUNK = 200

/**
 * The pool under the rules of geth or Base: anvil's own has neither the 10% rule nor the silent drop, so sent
 * transactions wait here, and the child gets those of the next flashblock just before it is made.
 */
export function createRulesPool(options: RulesPoolOptions): Pool {
  const { rpc, rules } = options
  const book = createPoolBook(rules, options.countMax)
  const doomed = new Set<Hex>()
  let states = new Map<Address, AccountState>()
  let epoch = 0

  async function take(batch: readonly Arrival[]): Promise<void> {
    const senders = await recoverAll(
      rpc,
      batch.map(({ send }) => send.tx.signature),
    )
    for (const [index, { send }] of batch.entries()) {
      const from = senders[index]
      if (send.foreign && from !== undefined) await placeForeign(from)
    }
    await withStates(senders, () => {
      for (const [index, { send, answer }] of batch.entries()) {
        const from = senders[index]
        answer(from === undefined ? fail(SERVER_ERROR, 'invalid sender') : admit(send, from))
      }
    })
  }

  // What was read belongs to one state of the chain: when a flashblock came in between, it is read again. `then` runs
  // at once after the check, so that it finds a state for every sender.
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

  function admit({ tx, fate }: PoolSend, from: Address): RpcReply {
    if (fate === 'forget') return ok(tx.hash)
    if (book.get(tx.hash) !== undefined) return fail(SERVER_ERROR, 'already known')
    const refusal = refusedByItself(tx, options, rules) ?? book.offer(tx, from, states.get(from)!)
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
    if (raw !== undefined) await inject(raw, from)
  }

  async function inject(raw: Hex, from: Address): Promise<void> {
    const sender = from.toLowerCase() as Address
    const tx = decodeTx(raw)
    if (tx === undefined) return
    await withStates([sender], () => book.put({ tx, from: sender, foreign: true }, states.get(sender)!))
  }

  let staged: readonly PooledTx[] = []

  async function stage(baseFeePerGas: bigint, gasAvailable: bigint): Promise<void> {
    for (const hash of doomed) book.remove(hash)
    doomed.clear()
    const accounts = book.senders().map((from) => book.account(from)!)
    staged = pick(accounts, baseFeePerGas, gasAvailable)
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
    // Senders that turn up while their elders are read are read in a further round.
    for (;;) {
      const absent = book.senders().filter((from) => !fresh.has(from))
      if (absent.length === 0) break
      for (const [from, state] of await readAccountStates(rpc, absent)) fresh.set(from, state)
    }
    const wereStaged = staged
    staged = []
    const left = () => wereStaged.filter(({ tx }) => book.get(tx.hash) !== undefined)
    // The child kept what it could not execute; its pool starts every flashblock empty.
    if (wereStaged.length > 0) await rpc.call('anvil_dropAllTransactions')
    return () => {
      epoch += 1
      states = new Map()
      for (const from of book.senders()) {
        const state = fresh.get(from)
        if (state === undefined) continue
        states.set(from, state)
        book.refresh(from, state)
      }
      // Handed over, next in line and still not executed: the child will not have it, ever.
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
    inject,
    async readmit(raws) {
      const txs = raws.map(decodeTx).filter((tx) => tx !== undefined)
      const senders = await recoverAll(
        rpc,
        txs.map(({ signature }) => signature),
      )
      await withStates(senders, () => {
        for (const [index, tx] of txs.entries()) {
          const from = senders[index]
          // What took the place of a removed transaction in the pool stays there.
          if (from === undefined || book.account(from)?.byNonce.has(tx.nonce)) continue
          book.put({ tx, from, foreign: false }, states.get(from)!)
        }
      })
    },
    waiting: (hash) => {
      const entry = book.get(hash)
      return entry && waitingTx(entry)
    },
    contentFrom(from) {
      const account = book.account(from.toLowerCase() as Address)
      const all = [...(account?.byNonce ?? [])].sort(([a], [b]) => a - b)
      const part = (run: boolean) =>
        Object.fromEntries(
          all.flatMap(([nonce, each]) =>
            nonce < (account?.end ?? 0) === run ? [[nonce, waitingTx(each)]] : [],
          ),
        )
      return { pending: part(true), queued: part(false) }
    },
    runEnd: (from) => book.account(from.toLowerCase() as Address)?.end,
    list: async () => [...book.entries()].map(({ tx, from }) => ({ hash: tx.hash, from, nonce: tx.nonce })),
  }
}
