import type { Hex } from 'viem'
import type { Clock } from '../../../src/platform/clock.js'
import type { CallFault } from '../faults/faultRules.js'
import type { Pool } from '../pool/pool.js'
import type { CallInfo } from '../rpc/callInfo.js'
import { fail, INVALID_PARAMS, ok, type RpcReply } from '../rpc/rpcTypes.js'

export type Sends = {
  /** `eth_sendRawTransaction` and `eth_sendRawTransactionSync`, with the faults drawn for the call. */
  send(call: CallInfo, faults: readonly CallFault[], request: object): Promise<RpcReply>
  /** Called after each flashblock and sealed block: pending sync calls look for their receipt again. */
  progressed(): void
  close(): void
}

export type SendsOptions = {
  readonly pool: Pool
  readonly clock: Clock
  readonly rules: 'base' | 'geth' | 'anvil'
  /** The receipt as clients see it now, or null. */
  readonly receiptOf: (hash: Hex) => Promise<unknown>
}

// Base caps the wait at 6 s and answers -32602 above it; geth's default is 20 s (EIP-7966 leaves both to the
// node).
const SYNC_MS_MAX = 6_000
const SYNC_MS_DEFAULT = { base: 6_000, geth: 20_000, anvil: 30_000 }

export function createSends(options: SendsOptions): Sends {
  const { pool, clock, rules } = options
  const watchers = new Map<() => void, () => void>()

  async function submit(call: CallInfo, faults: readonly CallFault[], request: object): Promise<RpcReply> {
    const tx = call.transaction()
    if (tx === undefined) return fail(INVALID_PARAMS, 'failed to decode signed transaction')
    const struck = (fault: CallFault['fault']) => faults.some((one) => one.fault === fault)
    return pool.submit({
      tx,
      request,
      fate: struck('neverPooled') ? 'forget' : struck('evict') ? 'evict' : 'keep',
      foreign: struck('foreign'),
    })
  }

  async function sendSync(call: CallInfo, faults: readonly CallFault[], request: object): Promise<RpcReply> {
    const waitMs = call.params[1] ?? SYNC_MS_DEFAULT[rules]
    if (typeof waitMs !== 'number' || !(waitMs > 0)) return fail(INVALID_PARAMS, 'invalid timeout')
    if (rules === 'base' && waitMs > SYNC_MS_MAX) {
      return fail(INVALID_PARAMS, `timeout ${waitMs}ms exceeds the maximum of ${SYNC_MS_MAX}ms`)
    }
    const sent = await submit(call, faults, request)
    if ('error' in sent) return sent
    const hash = sent.result as Hex
    const receipt = await receiptWithin(hash, waitMs)
    return receipt === undefined ? timedOut(hash, waitMs) : ok(receipt)
  }

  // Error code 4: the transaction was added, and nothing else is known. reth and Base return the hash in the
  // message only.
  function timedOut(hash: Hex, waitMs: number): RpcReply {
    const message = `The transaction was added to the mempool but wasn't processed within ${waitMs}ms`
    return rules === 'base' ? fail(4, `${message}: ${hash}`) : fail(4, message, hash)
  }

  function receiptWithin(hash: Hex, waitMs: number): Promise<unknown> {
    return new Promise((resolve) => {
      const finish = (receipt: unknown) => {
        cancel()
        watchers.delete(look)
        resolve(receipt)
      }
      const look = () => {
        options.receiptOf(hash).then(
          (receipt) => receipt && finish(receipt),
          () => undefined,
        )
      }
      const cancel = clock.setTimer(() => finish(undefined), waitMs)
      watchers.set(look, () => finish(undefined))
      look()
    })
  }

  return {
    async send(call, faults, request) {
      const way = call.method === 'eth_sendRawTransaction' ? submit : sendSync
      return way(call, faults, request)
    },
    progressed() {
      for (const look of [...watchers.keys()]) look()
    },
    close() {
      for (const giveUp of [...watchers.values()]) giveUp()
    },
  }
}
