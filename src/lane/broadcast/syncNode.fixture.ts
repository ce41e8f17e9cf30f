import { decodeTransaction, type SimTransaction } from '../../../test/sim/transaction.js'
import type { VirtualClock } from '../../../test/sim/virtualClock.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from '../../rpc/port.js'
import { SEND_SYNC } from '../../rpc/sendSync.js'

/** A sync send as the node saw it. */
export type SyncSend = { readonly nonce: number; readonly timeoutMs: unknown; readonly atMs: number }

/** The reaction of the node to a sync send, if it does not add it and wait for the receipt. */
export type SyncFault = {
  /** The bytes reach the pool. @default true */
  readonly added?: boolean
  /** The answer. `receipt`: the receipt, once there is one, or code 4. */
  answer(receipt: () => Promise<RpcReply>): RpcReply | Promise<RpcReply>
}

const LOOK_MS = 10

/**
 * A port whose node has `eth_sendRawTransactionSync`, as geth 1.17 has it: it adds the bytes as
 * `eth_sendRawTransaction` does, and answers with the receipt or with code 4.
 */
export function withSendSync(
  port: Port,
  clock: VirtualClock,
  node: {
    readonly sends?: SyncSend[]
    /** The methods of each request. */
    readonly requests?: string[][]
    /** Read at each sync send. */
    fault?: SyncFault | undefined
    /** The answer to `web3_clientVersion`. @default none */
    readonly client?: string
    /** Answers the probe. @default as the node answers `eth_sendRawTransaction` */
    probe?: ((params: readonly unknown[]) => RpcReply | undefined) | undefined
  },
): Port {
  const pause = (ms: number) => new Promise<void>((done) => void clock.setTimer(done, ms))

  async function one(call: RpcCall, options?: BatchOptions): Promise<RpcReply> {
    const [reply] = await port.batch([call], options)
    return reply as RpcReply
  }

  async function receiptOf(hash: string, timeoutMs: number): Promise<RpcReply> {
    const untilMs = clock.now() + timeoutMs
    for (;;) {
      const reply = await one({ method: 'eth_getTransactionReceipt', params: [hash] })
      if (reply.ok && reply.result !== null) return reply
      if (clock.now() >= untilMs) return timedOut(hash, timeoutMs)
      await pause(LOOK_MS)
    }
  }

  async function send({ params }: RpcCall): Promise<RpcReply> {
    const [raw, timeoutMs] = params as [string, number]
    if (raw === '0x') return node.probe?.(params) ?? TOO_SHORT
    const { nonce, hash } = decodeTransaction(raw) as SimTransaction
    node.sends?.push({ nonce, timeoutMs, atMs: clock.now() })
    const { fault } = node
    if (fault?.added !== false) {
      const sent = await one({ method: 'eth_sendRawTransaction', params: [raw] })
      if (!sent.ok) return sent
    }
    const receipt = () => receiptOf(hash, timeoutMs)
    return fault ? fault.answer(receipt) : receipt()
  }

  function withinTime(reply: Promise<RpcReply>, timeoutMs: number): Promise<RpcReply> {
    return new Promise((done) => {
      const cancel = clock.setTimer(() => done(LATE), timeoutMs)
      void reply.then((answer) => {
        cancel()
        done(answer)
      })
    })
  }

  return {
    name: port.name,
    kind: port.kind,
    stats: port.stats,
    close: () => port.close(),
    async batch(calls, options) {
      const [first] = calls
      node.requests?.push(calls.map(({ method }) => method))
      if (first?.method === 'eth_sendRawTransaction' && first.params[0] === '0x') return [TOO_SHORT]
      if (first?.method === 'web3_clientVersion' && node.client !== undefined)
        return [{ ok: true, result: node.client }]
      if (first?.method !== SEND_SYNC) return port.batch(calls, options)
      if (calls.length !== 1) throw new Error('a sync send is a request of one call')
      return [await withinTime(send(first), options?.timeoutMs ?? 10_000)]
    },
  }
}

const rpc = (code: number, message: string, data?: unknown): RpcReply => {
  return { ok: false, failure: { kind: 'rpc', code, message, ...(data === undefined ? {} : { data }) } }
}

export const TOO_SHORT = rpc(-32_000, 'typed transaction too short')
const LATE: RpcReply = { ok: false, failure: { kind: 'timeout', message: 'no answer in time' } }

const timedOut = (hash: string, ms: number) =>
  rpc(4, `The transaction was added to the transaction pool but wasn't processed in ${ms}ms`, hash)
