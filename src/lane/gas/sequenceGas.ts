import { type Chain, type Hex, numberToHex } from 'viem'
import type { Lane } from '../../allocator/lane.js'
import { formatted } from '../../chain/endpoints/calls.js'
import type { EndpointPool } from '../../chain/endpoints/endpointPool.js'
import { createTurnBatch } from '../../platform/microtask.js'
import { decodeQuantity } from '../../rpc/codec.js'
import { isMethodRefused } from '../../rpc/errors.js'
import { call } from '../../rpc/port.js'
import type { Limits } from '../../types/index.js'
import { leastGas } from '../../validate/gasBounds.js'
import type { Transaction } from '../transaction/transaction.js'
import type { Estimate } from './gas.js'

/**
 * Estimates the gas of a transaction in a sequence, on the state that its predecessors leave behind.
 * Undefined if that is impossible: the endpoint has no `eth_simulateV1`, the transaction has too many
 * predecessors, or it fails on that state.
 */
export type SequenceGas = (
  before: readonly Transaction[],
  transaction: Transaction,
) => Promise<Estimate | undefined>

const METHOD = 'eth_simulateV1'
/** Maximum calls per `eth_simulateV1`. Later transactions wait until the first ones are visible on chain. */
const CALLS_MAX = 100
/**
 * Gas limit of the simulated block. reth refuses a block above its own cap (-38026); geth accepts any limit.
 */
const BLOCK_GAS = numberToHex(30_000_000)
const TRIES_MAX = 3

type Result = { readonly ok: boolean; readonly gasUsed: bigint }
type Run = {
  readonly of: readonly Transaction[]
  readonly answers: Promise<ReadonlyMap<Transaction, bigint>>
}

type Asked = { readonly chain: readonly Transaction[]; readonly done: (run: Run | undefined) => void }

export function createSequenceGas({
  lane,
  endpointPool,
  limits,
}: {
  readonly lane: Lane
  readonly endpointPool: Pick<EndpointPool, 'chain' | 'reader'>
  readonly limits: Limits
}): SequenceGas {
  // Requests of one event-loop turn share one simulation, because the longest chain contains the others.
  const add = createTurnBatch<Asked>(post)

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
   * Finds sufficient gas limits. The gas used is less than the gas needed: up to a fifth is refunded at the
   * end (EIP-3529), and each inner call keeps a 64th back (EIP-150). So the chain is simulated again with the
   * limits that would be sent, and a limit that was too low is doubled.
   */
  async function solve(chain: readonly Transaction[]): Promise<ReadonlyMap<Transaction, bigint>> {
    const solved = new Map<Transaction, bigint>()
    const first = await simulate(chain, ({ record }) => record.request.gas ?? record.gas)
    if (first === undefined) return solved
    const limits = new Map(
      chain.map((one, index) => [
        one,
        one.request.gas ?? one.record.gas ?? enough(first[index]?.gasUsed ?? 0n),
      ]),
    )
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const results = await simulate(chain, (one) => limits.get(one))
      if (results === undefined) return solved
      const failed = chain.findIndex((_, index) => first[index]?.ok === true && results[index]?.ok === false)
      // Results after the first failure are meaningless: they ran on a state that will never exist.
      const sound = failed < 0 ? chain.length : failed
      for (const [index, one] of chain.slice(0, sound).entries())
        if (results[index]?.ok === true) solved.set(one, limits.get(one) ?? 0n)
      const short = chain[failed]
      if (short === undefined || short.request.gas !== undefined) return solved
      limits.set(short, 2n * (limits.get(short) ?? 0n))
    }
    return solved
  }

  function post(all: readonly Asked[]): void {
    const runs: Run[] = []
    for (const { chain, done } of [...all].sort((a, b) => b.chain.length - a.chain.length)) {
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
    const run = await new Promise<Run | undefined>((done) => add({ chain, done }))
    const gas = (await run?.answers)?.get(transaction)
    return gas === undefined ? undefined : { kind: 'gas', gas }
  }
}

/** Maximum that `used` can have been before the refund, plus a 64th. */
function enough(used: bigint): bigint {
  return (((used * 5n) / 4n) * 64n) / 63n + 1n
}

/** Undefined if a call is reported to have succeeded with less gas than its intrinsic cost. */
function sound(
  results: readonly Result[] | undefined,
  chain: readonly Transaction[],
  on: Chain,
): readonly Result[] | undefined {
  const isSound = results?.every(({ ok, gasUsed }, index) => {
    const request = chain[index]?.request
    // Up to a fifth may have been refunded (EIP-3529), so the reported amount may be lower by that much.
    return !ok || request === undefined || 5n * gasUsed >= 4n * leastGas(request, on)
  })
  return isSound ? results : undefined
}

/**
 * Parses the result as specified in execution-apis: blocks, each with its calls. Undefined for any other
 * shape.
 */
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
