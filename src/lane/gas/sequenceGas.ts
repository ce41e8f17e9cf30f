import { type Chain, type Hex, numberToHex } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { formatted } from '../../chain/endpoints/callForm.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { queueMicro } from '../../platform/microtask.js'
import { decodeQuantity } from '../../rpc/codec.js'
import { isMethodRefused } from '../../rpc/errors.js'
import { call } from '../../rpc/port.js'
import type { Limits } from '../../types/index.js'
import { leastGas } from '../../validate/gasBounds.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Estimate } from './gas.js'

/**
 * Gas for a transaction of a sequence on the state that those before it leave behind. Undefined where that cannot be
 * told: the endpoint has no `eth_simulateV1`, too many go before it, or it fails on that state.
 */
export type SequenceGas = (
  before: readonly Transaction[],
  transaction: Transaction,
) => Promise<Estimate | undefined>

const METHOD = 'eth_simulateV1'
/** Calls in one simulation: beyond them, what is asked for waits until the first of them show. */
const CALLS_MAX = 100
/** What the simulated block may spend. reth refuses a block above its own cap (-38026), geth takes what is given. */
const BLOCK_GAS = numberToHex(30_000_000)
const TRIES_MAX = 3

type Result = { readonly ok: boolean; readonly gasUsed: bigint }
type Run = {
  readonly of: readonly Transaction[]
  readonly answers: Promise<ReadonlyMap<Transaction, bigint>>
}

export function createSequenceGas({
  lane,
  endpointPool,
  limits,
}: {
  readonly lane: Lane
  readonly endpointPool: EndpointPool
  readonly limits: Limits
}): SequenceGas {
  // What is asked for in one turn is one simulation: the longest holds the others.
  let asked: { readonly chain: readonly Transaction[]; readonly done: (run: Run | undefined) => void }[] = []

  async function simulate(
    chain: readonly Transaction[],
    limitOf: (transaction: Transaction) => bigint | undefined,
  ): Promise<readonly Result[] | undefined> {
    const { port, profile } = endpointPool.reader
    const calls = chain.map((one) =>
      formatted(endpointPool.chain, { ...one.request, gas: limitOf(one) }, lane.key.address),
    )
    const blockStateCalls = [{ blockOverrides: { gasLimit: BLOCK_GAS }, calls }]
    const tag = profile.current().pending === 'absent' ? 'latest' : 'pending'
    const reply = await call(port, METHOD, [{ blockStateCalls, validation: false }, tag], {
      timeoutMs: limits.readTimeoutMs,
    })
    if (reply.ok) return sound(resultsOf(reply.result, chain.length), chain, endpointPool.chain)
    if (isMethodRefused(METHOD, reply.failure)) profile.observe({ kind: 'methodRefused', method: METHOD })
    return undefined
  }

  /**
   * What was used is less than what is needed: up to a fifth is refunded at the end (EIP-3529), and each call within
   * keeps a 64th back (EIP-150). So it is run again with the limits that it would be sent with, and with twice of what
   * was not enough.
   */
  async function solve(chain: readonly Transaction[]): Promise<ReadonlyMap<Transaction, bigint>> {
    const solved = new Map<Transaction, bigint>()
    const first = await simulate(chain, ({ request, gas }) => request.gas ?? gas)
    if (first === undefined) return solved
    const limits = new Map(
      chain.map((one, index) => [one, one.request.gas ?? one.gas ?? enough(first[index]?.gasUsed ?? 0n)]),
    )
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const results = await simulate(chain, (one) => limits.get(one))
      if (results === undefined) return solved
      const failed = chain.findIndex((_, index) => first[index]?.ok === true && results[index]?.ok === false)
      // What comes after one that failed ran on a state that will not be.
      const sound = failed < 0 ? chain.length : failed
      for (const [index, one] of chain.slice(0, sound).entries())
        if (results[index]?.ok === true) solved.set(one, limits.get(one) ?? 0n)
      const short = chain[failed]
      if (short === undefined || short.request.gas !== undefined) return solved
      limits.set(short, 2n * (limits.get(short) ?? 0n))
    }
    return solved
  }

  function post(): void {
    const all = asked
    asked = []
    const runs: Run[] = []
    for (const { chain, done } of all.sort((a, b) => b.chain.length - a.chain.length)) {
      const last = chain.at(-1) as Transaction
      let run = runs.find(({ of }) => of[0] === chain[0] && of.includes(last))
      if (run === undefined) {
        run = { of: chain, answers: solve(chain) }
        runs.push(run)
      }
      done(run)
    }
  }

  return async (before, transaction) => {
    const chain = [...before, transaction]
    if (chain.length > CALLS_MAX || endpointPool.reader.profile.current().simulateV1 === false)
      return undefined
    const run = await new Promise<Run | undefined>((done) => {
      asked.push({ chain, done })
      if (asked.length === 1) queueMicro(post)
    })
    const gas = (await run?.answers)?.get(transaction)
    return gas === undefined ? undefined : { kind: 'gas', gas }
  }
}

/** The most that `used` can have been before the refund, and a 64th on top. */
function enough(used: bigint): bigint {
  return (((used * 5n) / 4n) * 64n) / 63n + 1n
}

/** Undefined where a call is said to have run for less than it costs before it runs. */
function sound(
  results: readonly Result[] | undefined,
  chain: readonly Transaction[],
  on: Chain,
): readonly Result[] | undefined {
  const isSound = results?.every(({ ok, gasUsed }, index) => {
    const request = chain[index]?.request
    // A fifth of it may have been refunded (EIP-3529), so that what is reported is less.
    return !ok || request === undefined || 5n * gasUsed >= 4n * leastGas(request, on)
  })
  return isSound ? results : undefined
}

/** As in the execution-apis' spec of `eth_simulateV1`: blocks, each with its calls; undefined for anything else. */
function resultsOf(result: unknown, count: number): readonly Result[] | undefined {
  const calls = (result as [{ calls?: unknown }?] | null)?.[0]?.calls
  if (!Array.isArray(calls) || calls.length !== count) return undefined
  try {
    return calls.map((one: { status?: Hex; gasUsed?: Hex }) => ({
      ok: one.status === '0x1',
      gasUsed: decodeQuantity(one.gasUsed, METHOD),
    }))
  } catch {
    return undefined
  }
}
