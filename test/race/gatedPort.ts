import { type Hex, keccak256 } from 'viem'
import type { Clock } from '../../src/platform/clock.js'
import type { Port, RpcCall, RpcFailure, RpcReply } from '../../src/rpc/port.js'
import type { SimChain } from '../sim/chain/simChain.js'
import { isNoop } from '../sim/foreign.js'
import { answer, error, ok } from '../sim/port/answer.js'
import { decodeTransaction } from '../sim/transaction.js'
import type { Draws, Gates } from './gates.js'

/** The node's answer to one transaction. */
export type Says =
  | 'takes it'
  /** It answers with the hash, but does not pool the transaction. */
  | 'swallows it'
  | 'intrinsic'
  | 'pool is full'
  | 'screened'
  /** An unknown message; the transaction is accepted. */
  | 'gibberish'

/** The fate of a whole request. */
export type Carries =
  | 'both ways'
  | 'request lost'
  | 'answer lost'
  /** The client gives up, and the request arrives later. */
  | 'request late'

export type GatedPort = Omit<Port, 'close'> & {
  /** Bytes that the node has declared invalid forever. */
  readonly barred: ReadonlySet<Hex>
  /** Everything that was sent to the endpoint, in order. */
  readonly wire: readonly Hex[]
  /** Called for each request before anything else. */
  onRequest: ((calls: readonly RpcCall[]) => void) | undefined
  /** The same node through a separate connection, which is closed separately. */
  connect(): Port
}

const LOST: RpcFailure = { kind: 'network', message: 'socket hang up' }
const TIMEOUT: RpcFailure = { kind: 'timeout', message: 'no answer in time' }
const ABORTED: RpcReply = { ok: false, failure: { kind: 'aborted', message: 'the connection is closed' } }
const TIMEOUT_MS = 10_000

/** A node whose every request and every answer waits for the schedule. */
export function createGatedPort(options: {
  readonly chain: SimChain
  readonly clock: Clock
  readonly gates: Gates
  readonly says: Draws<Says>
  readonly carries: Draws<Carries>
}): GatedPort {
  const { chain, clock, gates, says, carries } = options
  const barred = new Set<Hex>()
  const wire: Hex[] = []
  const stats = { requests: 0, calls: 0 }

  function one(call: RpcCall): RpcReply {
    const take = () => answer(chain, chain.view(), call)
    if (call.method !== 'eth_sendRawTransaction') return take()
    const raw = call.params[0] as Hex
    if (barred.has(raw)) return error(-32000, 'invalid transaction v, r, s values')
    switch (says.next()) {
      case 'takes it':
        return take()
      case 'swallows it':
        return ok(keccak256(raw))
      case 'intrinsic':
        if (!mayBar(raw)) return take()
        barred.add(raw)
        return error(-32000, 'invalid transaction v, r, s values')
      case 'pool is full':
        return error(-32000, 'txpool is full')
      case 'screened':
        return error(-32000, 'tx fee (2.00 ether) exceeds the configured cap (1.00 ether)')
      case 'gibberish':
        take()
        return error(-32099, 'the moon is in the wrong house')
    }
  }

  /**
   * It must not call bytes invalid that it accepted before, nor a no-op, whose gas it has estimated itself.
   */
  function mayBar(raw: Hex): boolean {
    const tx = decodeTransaction(raw)
    const again = wire.filter((sent) => sent === raw).length > 1
    return tx !== undefined && !isNoop(tx) && !again && !chain.pool.has(tx.hash)
  }

  async function carry(calls: readonly RpcCall[], name: string): Promise<readonly RpcReply[]> {
    const how = isSend(calls) ? carries.next() : 'both ways'
    const lost = calls.map((): RpcReply => ({ ok: false, failure: LOST }))
    if (how === 'request late') {
      void gates.pass(`late ${name}`).then(() => calls.map(one))
      return lost
    }
    await gates.pass(`${name} arrives`)
    if (how === 'request lost') return lost
    const replies = calls.map(one)
    await gates.pass(`answer to ${name}`)
    return how === 'answer lost' ? lost : replies
  }

  const node: GatedPort = {
    name: 'gated',
    kind: 'http',
    stats,
    barred,
    wire,
    onRequest: undefined,
    batch(calls, batchOptions) {
      node.onRequest?.(calls)
      stats.requests++
      stats.calls += calls.length
      for (const { method, params } of calls) {
        if (method === 'eth_sendRawTransaction') wire.push(params[0] as Hex)
      }
      return new Promise((resolve) => {
        const late = () => resolve(calls.map(() => ({ ok: false, failure: TIMEOUT })))
        const cancel = clock.setTimer(late, batchOptions?.timeoutMs ?? TIMEOUT_MS)
        void carry(calls, nameOf(calls)).then((replies) => {
          cancel()
          resolve(replies)
        })
      })
    },
    connect() {
      let closed = false
      return {
        name: node.name,
        kind: node.kind,
        stats,
        batch: (calls, given) =>
          closed || given?.signal?.aborted
            ? Promise.resolve(calls.map(() => ABORTED))
            : node.batch(calls, given),
        close() {
          closed = true
        },
      }
    },
  }
  return node
}

function isSend(calls: readonly RpcCall[]): boolean {
  return calls[0]?.method === 'eth_sendRawTransaction'
}

function nameOf(calls: readonly RpcCall[]): string {
  return `${calls[0]?.method.replace('eth_', '')}${calls.length > 1 ? ` and ${calls.length - 1}` : ''}`
}
