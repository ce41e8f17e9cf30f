import type { RpcCall, RpcReply } from '../../../src/rpc/port.js'
import type { View, Wire } from '../chain/block.js'
import type { SimChain } from '../chain/simChain.js'
import { answer, error, ok } from './answer.js'
import { type How, isActive, type Target, type TimedFault, targetOf } from './timedFault.js'
import { quantity } from './wire.js'

/** The fault that is active at a call, and its answer. */
export type Untruth<F extends TimedFault> = {
  activeFor(call: RpcCall): F | undefined
  /** Undefined if the endpoint answers truly. */
  answer(call: RpcCall, view: View): RpcReply | undefined
}

/** The endpoint's faults, each in its own time. */
export function createUntruth<F extends TimedFault>(options: {
  readonly chain: SimChain
  readonly faults: readonly F[]
  /** Milliseconds of the world's time. */
  readonly nowMs: () => number
  /** Called for each untrue answer. */
  readonly onFault: (fault: F) => void
}): Untruth<F> {
  const { chain, faults, nowMs, onFault } = options
  const given = new Map<F, number>()

  function activeFor(call: RpcCall): F | undefined {
    const target = targetOf(call)
    const ms = nowMs()
    return faults.find((fault) => fault.target === target && isActive(fault, ms))
  }

  return {
    activeFor,
    answer(call, view) {
      const fault = activeFor(call)
      if (fault === undefined) return undefined
      const count = given.get(fault) ?? 0
      given.set(fault, count + 1)
      const untrue = untrueAnswer(fault.how, { chain, view, call, target: fault.target, given: count })
      if (untrue !== undefined) onFault(fault)
      return untrue
    },
  }
}

/** The inputs of an answer. */
type Asked = {
  readonly chain: SimChain
  readonly view: View
  readonly call: RpcCall
  readonly target: Target
  /** The number of answers that this fault has given: a contradictory one is right every second time. */
  readonly given: number
}

const BLOCKS: ReadonlySet<Target> = new Set([
  'latestHeader',
  'pendingHeader',
  'headerByNumber',
  'bodyByNumber',
  'blockByHash',
])

// Shapes that no decoder may accept as a value.
const MALFORMED: readonly unknown[] = [7, '0xzz', [], { unexpected: true }, 'internal']

/**
 * The answer of a fault in place of the true one. Undefined for the true answer, or for a fault that is not
 * about a single call.
 */
function untrueAnswer(how: How, asked: Asked): RpcReply | undefined {
  const { chain, view, call, given } = asked
  switch (how.kind) {
    case 'off':
      return shifted(asked, how.by)
    case 'null':
      return ok(null)
    case 'stale':
      return answer(chain, earlier(chain, view, how.blocks), call)
    case 'blockIgnored':
      return answer(chain, view, at(call, how.shows))
    case 'twoLater':
      return answer(chain, view, at(call, later(asked, call)))
    case 'malformed':
      return ok(MALFORMED[given % MALFORMED.length])
    case 'emptyBody':
      return withTransactions(asked, () => [])
    case 'lackingBody':
      return withTransactions(asked, (all) => all.filter((_, index) => index % 2 === 1))
    case 'contradictory':
      return given % 2 === 0 ? contradicted(asked) : undefined
    case 'refused':
      return error(how.code, how.message)
    default:
      return undefined
  }
}

function shifted(asked: Asked, by: number): RpcReply {
  const reply = answer(asked.chain, asked.view, asked.call)
  if (!reply.ok || reply.result === null) return reply
  if (BLOCKS.has(asked.target)) return elsewhere(reply.result as Wire, by)
  return ok(moved(reply.result as string, by))
}

function moved(value: string, by: number): string {
  const number = BigInt(value) + BigInt(by)
  return quantity(number < 0n ? 0n : number)
}

/**
 * A block of another height, which no branch has. Not below block 0, because another block 0 is another
 * chain.
 */
function elsewhere(block: Wire, by: number): RpcReply {
  const number = moved(String(block.number), by)
  if (number === block.number) return ok(block)
  const named = (kind: string) => `0x0dd${kind}${number.slice(2).padStart(60, '0')}`
  return ok({ ...block, number, hash: named('1'), parentHash: named('2') })
}

/** The view of the endpoint when its head was `blocks` lower. */
function earlier(chain: SimChain, view: View, blocks: number): View {
  const number = Math.max(0, view.head.number - blocks)
  const head = chain.canonical[number] ?? view.head
  return { ...view, head, pending: undefined }
}

/** The same call for another block. */
function at({ method, params }: RpcCall, block: unknown): RpcCall {
  const place = method === 'eth_getBlockByNumber' || method === 'eth_getBlockReceipts' ? 0 : 1
  if (method === 'eth_getBlockByHash') return { method: 'eth_getBlockByNumber', params: [block, params[1]] }
  return { method, params: params.map((param, index) => (index === place ? block : param)) }
}

function later({ chain, view }: Asked, { method, params }: RpcCall): string {
  const { number: newest } = view.head
  return quantity(Math.min(newest, numberOf(chain, params[method.startsWith('eth_getBlock') ? 0 : 1]) + 2))
}

/** The height that a selector names: a number in hex or a hash (EIP-1898); the head's for a tag. */
function numberOf(chain: SimChain, selector: unknown): number {
  if (typeof selector === 'string') return selector.startsWith('0x') ? Number(selector) : chain.head.number
  const { blockHash } = selector as { blockHash?: string }
  return chain.canonical.findLast(({ hash }) => hash === blockHash)?.number ?? chain.head.number
}

/** Undefined if nothing is left out. */
function withTransactions(
  asked: Asked,
  change: (all: readonly unknown[]) => readonly unknown[],
): RpcReply | undefined {
  const reply = answer(asked.chain, asked.view, asked.call)
  if (!reply.ok || reply.result === null) return undefined
  const block = reply.result as Wire
  const all = block.transactions as readonly unknown[]
  const transactions = change(all)
  return transactions.length === all.length ? undefined : ok({ ...block, transactions })
}

/** Blocks without a known parent; counts and amounts that are sometimes higher. */
function contradicted(asked: Asked): RpcReply {
  const reply = answer(asked.chain, asked.view, asked.call)
  if (!reply.ok || reply.result === null) return reply
  const { result } = reply
  if (typeof result === 'string') return ok(/^0x[0-9a-f]{1,16}$/.test(result) ? moved(result, 4) : '0x')
  if (Array.isArray(result)) return ok(result.slice(1))
  const parent = `0x0dd3${asked.given.toString(16).padStart(60, '0')}`
  const about = 'parentHash' in (result as Wire) ? 'parentHash' : 'blockHash'
  return ok({ ...(result as Wire), [about]: parent })
}
