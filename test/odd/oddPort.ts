import type { Hex } from 'viem'
import type { Clock, Random } from '../../src/platform/clock.js'
import type { BatchOptions, Port, RpcCall, RpcFailure, RpcReply } from '../../src/rpc/port.js'
import type { SimChain } from '../sim/chain/simChain.js'
import { createSimPort } from '../sim/port/simPort.js'
import type { How } from '../sim/port/timedFault.js'
import { createUntruth } from '../sim/port/untrue.js'
import { shuffle } from '../sim/random.js'
import type { Fault } from './faults.js'

export type OddPortOptions = {
  readonly name: string
  readonly chain: SimChain
  readonly clock: Clock
  readonly random: Random
  readonly faults: readonly Fault[]
  /**
   * The endpoint executes the calls of a batch in any order, as Hardhat does (JSON-RPC 2.0, section 6,
   * allows it).
   */
  readonly parallel: boolean
  /** Called with all bytes that were sent to the endpoint. */
  readonly onRaw: (raw: Hex) => void
  readonly onFault: (fault: Fault) => void
  /** Called with each request and its answers. */
  readonly onAnswer?: ((calls: readonly RpcCall[], replies: readonly RpcReply[]) => void) | undefined
}

/** The requests to an endpoint, by the second of its time. */
export type Load = {
  readonly requests: ReadonlyMap<number, number>
  readonly calls: ReadonlyMap<number, number>
}

const TIMEOUT_MS = 10_000
const ANSWER_MS = 10

/** One endpoint of an odd world: that of the simulated chain, with faults in front of it. */
export function createOddPort(options: OddPortOptions): Port & { readonly load: Load } {
  const { name, chain, clock, random, faults, parallel, onFault } = options
  const beganMs = clock.now()
  const requests = new Map<number, number>()
  const calls = new Map<number, number>()
  const nowMs = () => clock.now() - beganMs
  const { activeFor, answer } = createUntruth({ chain, faults, nowMs, onFault })

  const inner = createSimPort(chain, {
    clock,
    random,
    name,
    latencyMs: { min: 5, max: 15 },
    untrue: (call) => answer(call, chain.view()),
  })

  async function batch(asked: readonly RpcCall[], batchOptions?: BatchOptions): Promise<readonly RpcReply[]> {
    const second = Math.floor(nowMs() / 1_000)
    requests.set(second, (requests.get(second) ?? 0) + 1)
    calls.set(second, (calls.get(second) ?? 0) + asked.length)
    const fault = asked.map(activeFor).find((each) => each !== undefined && isOfRequest(each.how))
    if (fault !== undefined) onFault(fault)
    for (const { method, params } of asked)
      if (method === 'eth_sendRawTransaction') options.onRaw(params[0] as Hex)
    const answered =
      fault === undefined ? ordered(asked, batchOptions) : delayed(fault.how, asked, batchOptions)
    const replies = await answered
    options.onAnswer?.(asked, replies)
    return replies
  }

  /** The request arrives, but the answer is missing, late or unreadable. */
  async function delayed(how: How, asked: readonly RpcCall[], batchOptions?: BatchOptions) {
    if (how.kind === 'tooMany') return after(ANSWER_MS, fail(asked, tooMany(how.retryAfterS)))
    if (how.kind === 'html') return after(ANSWER_MS, fail(asked, HTML))
    const timeoutMs = batchOptions?.timeoutMs ?? TIMEOUT_MS
    const answered = ordered(asked, { timeoutMs: timeoutMs * 2 })
    const waitMs = how.kind === 'slow' ? how.ms : timeoutMs
    const given = await givenUp(Math.min(waitMs, timeoutMs), batchOptions?.signal)
    if (given) return fail(asked, GIVEN_UP)
    return waitMs >= timeoutMs ? fail(asked, TIMEOUT) : answered
  }

  function after<T>(ms: number, value: T): Promise<T> {
    return new Promise((resolve) => clock.setTimer(() => resolve(value), ms))
  }

  /** True if the caller gave up before the time was over. */
  function givenUp(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(true)
    return new Promise((resolve) => {
      const end = (gaveUp: boolean) => {
        cancel()
        signal?.removeEventListener('abort', onAbort)
        resolve(gaveUp)
      }
      const onAbort = () => end(true)
      const cancel = clock.setTimer(() => end(false), ms)
      signal?.addEventListener('abort', onAbort)
    })
  }

  /** In the order of the batch, or in a random one if the endpoint is parallel. */
  async function ordered(asked: readonly RpcCall[], batchOptions?: BatchOptions) {
    if (!parallel || asked.length < 2) return inner.batch(asked, batchOptions)
    const order = asked.map((_, index) => index)
    shuffle(random, order)
    const replies = await inner.batch(
      order.map((index) => asked[index] as RpcCall),
      batchOptions,
    )
    return asked.map((_, index) => replies[order.indexOf(index)] as RpcReply)
  }

  return {
    name,
    kind: 'http',
    batch,
    get stats() {
      return inner.stats
    },
    load: { requests, calls },
    close: () => inner.close(),
  }
}

/** True for a fault of the whole request, regardless of its calls. */
function isOfRequest({ kind }: How): boolean {
  return kind === 'slow' || kind === 'neverAnswered' || kind === 'tooMany' || kind === 'html'
}

function fail(calls: readonly RpcCall[], failure: RpcFailure): readonly RpcReply[] {
  return calls.map(() => ({ ok: false, failure }))
}

function tooMany(retryAfterS: number | undefined): RpcFailure {
  const retry = retryAfterS === undefined ? {} : { retryAfterMs: retryAfterS * 1_000 }
  return { kind: 'http', status: 429, message: 'Too Many Requests', ...retry }
}

const HTML: RpcFailure = { kind: 'malformed', message: 'the body is not JSON' }
const TIMEOUT: RpcFailure = { kind: 'timeout', message: 'no answer in time' }
const GIVEN_UP: RpcFailure = { kind: 'network', message: 'given up while the request was under way' }
