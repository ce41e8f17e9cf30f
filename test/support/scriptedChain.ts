import type { Hash, Hex } from 'viem'
import type { Port, RpcCall, RpcReply } from '../../src/rpc/port.js'

/** One use of a nonce of the account: by the transaction with that hash, or (null) by an authorization. */
export type Use = Hash | null
/** The nonce uses of each block, from block 0 on. */
export type History = readonly (readonly Use[])[]

/** A hash that is recognisable when a test fails. */
export function hashOf(kind: 'own' | 'foreign' | 'stranger' | 'block', ...parts: readonly number[]): Hash {
  const digit = { own: 'a', foreign: 'f', stranger: '5', block: 'b' }[kind]
  const tail = parts.map((part) => part.toString(16).padStart(8, '0')).join('')
  return `0x${digit}${tail.padStart(63, '0')}`
}

export type ScriptedChain = {
  /** The number of the newest block. */
  readonly newest: number
  readonly blockHash: (number: number) => Hash
  readonly countAt: (number: number) => number
  readonly numberOf: (hash: unknown) => number | undefined
  /** The answer of a node on this chain. */
  readonly answer: (call: RpcCall) => RpcReply
}

/** A chain that only counts one account's nonces. Blocks below `forkedAt` are the same for every `fork`. */
export function scriptedChain(
  address: Hex,
  history: History,
  fork: { id: number; forkedAt: number; code?: Hex } = { id: 0, forkedAt: 0 },
): ScriptedChain {
  const starts = [0]
  for (const uses of history) starts.push((starts.at(-1) ?? 0) + uses.length)
  const blockHash = (number: number) => hashOf('block', number < fork.forkedAt ? 0 : fork.id, number)
  const countAt = (number: number) => starts[number + 1] ?? 0
  const byHash = new Map(history.map((_, number) => [blockHash(number), number]))
  const numberOf = (hash: unknown) => byHash.get(hash as Hash)

  function block(number: number, full: boolean): unknown {
    if (history[number] === undefined) return null
    const mine = history[number].flatMap((hash, index) =>
      hash === null ? [] : [{ hash, from: address, nonce: hex((starts[number] ?? 0) + index) }],
    )
    const stranger = { hash: hashOf('stranger', number), from: `0x${'99'.repeat(20)}`, nonce: hex(0) }
    const all = [stranger, ...mine]
    return {
      number: hex(number),
      hash: blockHash(number),
      parentHash: number === 0 ? `0x${'0'.repeat(64)}` : blockHash(number - 1),
      timestamp: hex(number),
      gasLimit: hex(30_000_000),
      gasUsed: hex(21_000 * all.length),
      transactions: full ? all : all.map(({ hash }) => hash),
    }
  }

  function answer({ method, params }: RpcCall): RpcReply {
    if (method === 'eth_chainId') return { ok: true, result: hex(1) }
    if (method === 'eth_getBlockByNumber')
      return { ok: true, result: block(Number(params[0]), params[1] === true) }
    if (method === 'eth_getBlockByHash') {
      const number = numberOf(params[0])
      return { ok: true, result: number === undefined ? null : block(number, params[1] === true) }
    }
    if (method === 'eth_getCode') return { ok: true, result: fork.code ?? '0x' }
    const selector = params[1]
    const number = typeof selector === 'string' ? Number(selector) : numberOf(blockHashOf(selector))
    if (number === undefined || history[number] === undefined) return rpcFailure(-32000, 'header not found')
    return { ok: true, result: hex(countAt(number)) }
  }
  return { newest: history.length - 1, blockHash, countAt, numberOf, answer }
}

export function blockHashOf(selector: unknown): unknown {
  return (selector as { blockHash?: unknown } | null)?.blockHash
}

export function rpcFailure(code: number, message: string): RpcReply {
  return { ok: false, failure: { kind: 'rpc', code, message } }
}

export type ScriptedPort = Port & { readonly batches: readonly (readonly RpcCall[])[] }

/** A port that answers each call separately, in order. `at` counts the calls and the batches from 0. */
export function scriptedPort(
  answer: (call: RpcCall, at: { call: number; batch: number; inBatch: number }) => RpcReply,
): ScriptedPort {
  const batches: (readonly RpcCall[])[] = []
  let asked = 0
  return {
    name: 'scripted',
    kind: 'http',
    batches,
    get stats() {
      return { requests: batches.length, calls: asked }
    },
    async batch(calls) {
      const batch = batches.push(calls) - 1
      return calls.map((call, inBatch) => answer(call, { call: asked++, batch, inBatch }))
    },
    close() {},
  }
}

function hex(value: number): Hex {
  return `0x${value.toString(16)}`
}

/** The kinds of call that the evidence reader makes. */
export const isCount = (call: RpcCall) => call.method === 'eth_getTransactionCount'
export const isByHash = (call: RpcCall) => blockHashOf(call.params[1]) !== undefined
export const isBody = (call: RpcCall) => call.method.startsWith('eth_getBlockBy') && call.params[1] === true
export const numberIn = (call: RpcCall) => Number(call.params[isCount(call) ? 1 : 0])
