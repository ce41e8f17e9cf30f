import type { Hex } from 'viem'
import type { Clock } from '../../../src/platform/clock.js'
import type { CallFault } from '../faults/faultRules.js'
import type { Pool } from '../pool/pool.js'
import type { CallInfo } from '../rpc/callInfo.js'
import { fail, INVALID_PARAMS, METHOD_NOT_FOUND, ok, type RpcReply } from '../rpc/rpcTypes.js'
import { type SyncSettings, syncRulesOf } from './syncSend.js'

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
  readonly sync: SyncSettings
  /** The receipt as clients see it now, or null. */
  readonly receiptOf: (hash: Hex) => Promise<unknown>
  /** Called for each transaction that the pool accepted. */
  readonly onAccepted: (hash: Hex) => void
}

export function createSends(options: SendsOptions): Sends {
  const { pool, clock } = options
  const { syncSend } = options.sync
  const syncRules = syncRulesOf(options.sync)
  const watchers = new Map<() => void, () => void>()

  async function submit(
    call: CallInfo,
    faults: readonly CallFault[],
    request: object,
    refusesUnready = false,
  ): Promise<RpcReply> {
    const tx = call.transaction()
    if (tx === undefined) return fail(INVALID_PARAMS, 'failed to decode signed transaction')
    const struck = (fault: CallFault['fault']) => faults.some((one) => one.fault === fault)
    const fate = struck('neverPooled') ? 'forget' : struck('evict') ? 'evict' : 'keep'
    const reply = await pool.submit({ tx, request, fate, foreign: struck('foreign'), refusesUnready })
    if ('result' in reply && fate !== 'forget') options.onAccepted(tx.hash)
    return reply
  }

  async function sendSync(call: CallInfo, faults: readonly CallFault[], request: object): Promise<RpcReply> {
    if (syncSend === 'missing') {
      return fail(METHOD_NOT_FOUND, `the method ${call.method} does not exist/is not available`)
    }
    const waitMs = syncRules.waitMs(call.params.slice(1))
    if (typeof waitMs !== 'number') return waitMs
    const sent = await submit(call, faults, request, syncSend === 'eip7966')
    if ('error' in sent) return sent
    const hash = sent.result as Hex
    const receipt = await receiptWithin(hash, waitMs)
    return receipt === undefined ? syncRules.timedOut(hash, waitMs) : ok(receipt)
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
