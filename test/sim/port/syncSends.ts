import type { Hash } from 'viem'
import type { Clock, Random } from '../../../src/platform/clock.js'
import type { RpcCall, RpcFailure, RpcReply } from '../../../src/rpc/port.js'
import { SEND_SYNC } from '../../../src/rpc/sendSync.js'
import type { RpcReply as NodeReply } from '../../../tools/devnet/rpc/rpcTypes.js'
import { type SyncSettings, syncRulesOf } from '../../../tools/devnet/serve/syncSend.js'
import type { ChainRules } from '../chain/options.js'
import { between, chance, pick } from '../random.js'
import type { SyncFaults, SyncPlan } from '../socketPlan.js'
import { decodeTransaction } from '../transaction.js'
import { error, ok } from './answer.js'

/** The sync sends of a node: it adds the bytes, and answers once it shows their receipt. */
export type SyncSends = {
  /** False for another call. `plain` answers a call of the node at once. */
  send(call: RpcCall, plain: (call: RpcCall) => RpcReply, answer: (reply: RpcReply) => void): boolean
  /** The node may show more receipts. */
  shown(): void
}

export type SyncSendsOptions = {
  readonly clock: Clock
  readonly random: Random
  readonly rules: ChainRules
  readonly form: SyncPlan['form']
  /** Read at each sync send. */
  readonly faults: SyncFaults
  /** The receipt that the node shows now, or null. */
  readonly receiptOf: (hash: Hash) => unknown
  /** The nonce after the executable transactions of an account. */
  readonly nextNonce: (from: `0x${string}`) => number
  readonly count: (event: SyncEvent) => void
}

export const SYNC_EVENTS = [
  'sync send',
  'sync receipt',
  'sync timeout',
  'sync refusal',
  'sync already known',
  'sync nonce gap',
  'sync cut',
  'sync late',
  'sync unusable',
] as const

export type SyncEvent = (typeof SYNC_EVENTS)[number]

type Waiting = { readonly hash: Hash; readonly finish: (reply: RpcReply) => void }

const LATE_MS_MAX = 8_000
const CUT_MS_MAX = 500
const EMPTY = '0x'
/** EIP-7966. */
const NONCE_GAP = 6

export function createSyncSends(options: SyncSendsOptions): SyncSends {
  const { clock, random, form, faults, receiptOf, count } = options
  const rules = syncRulesOf(settingsOf(options))
  const waiting = new Set<Waiting>()
  const strikes = (fault: keyof SyncFaults) => chance(random, faults[fault])

  function look(one: Waiting): void {
    const receipt = receiptOf(one.hash)
    if (receipt === null) return
    count('sync receipt')
    one.finish(ok(receipt))
  }

  /** The bytes are added: waits for their receipt. */
  function wait(hash: Hash, waitMs: number, answer: (reply: RpcReply) => void): void {
    const laterMs = strikes('late') ? between(random, 500, LATE_MS_MAX) : 0
    if (laterMs > 0) count('sync late')
    const cuts = strikes('cut')
    const timeUp = () => {
      count(cuts ? 'sync cut' : 'sync timeout')
      one.finish(cuts ? CUT : replyOf(rules.timedOut(hash, waitMs)))
    }
    const cancel = clock.setTimer(timeUp, cuts ? between(random, 1, Math.min(CUT_MS_MAX, waitMs)) : waitMs)
    const one: Waiting = {
      hash,
      finish(reply) {
        cancel()
        waiting.delete(one)
        if (laterMs === 0) answer(reply)
        else clock.setTimer(() => answer(reply), laterMs)
      },
    }
    waiting.add(one)
    look(one)
  }

  /** EIP-7966 lets a node refuse a transaction above a gap; geth and reth do not. */
  function gapOf(raw: string): RpcReply | undefined {
    const tx = form === 'eip7966' ? decodeTransaction(raw) : undefined
    const expected = tx === undefined ? Number.POSITIVE_INFINITY : options.nextNonce(tx.from)
    if (tx === undefined || tx.nonce <= expected) return undefined
    count('sync nonce gap')
    const message = `nonce too high: expected nonce ${expected}, tx nonce ${tx.nonce}`
    return error(NONCE_GAP, message, `0x${expected.toString(16)}`)
  }

  return {
    send({ method, params: [bytes, ...more] }, plain, answer) {
      if (method !== SEND_SYNC) return false
      const raw = String(bytes)
      const sendPlain = () => plain({ method: 'eth_sendRawTransaction', params: [raw] })
      const waitMs = rules.waitMs(more)
      if (typeof waitMs !== 'number') answer(replyOf(waitMs))
      else if (raw === EMPTY) answer(sendPlain())
      else {
        count('sync send')
        if (strikes('unusable')) {
          count('sync unusable')
          if (chance(random, 0.5)) sendPlain()
          answer(pick(random, UNUSABLE))
          return true
        }
        const sent = gapOf(raw) ?? sendPlain()
        if (sent.ok) wait(sent.result as Hash, waitMs, answer)
        else {
          count(isKnown(sent) ? 'sync already known' : 'sync refusal')
          answer(sent)
        }
      }
      return true
    },
    shown() {
      for (const one of [...waiting]) look(one)
    },
  }
}

const isKnown = (reply: RpcReply) => !reply.ok && reply.failure.message.includes('already known')

const CUT: RpcReply = {
  ok: false,
  failure: { kind: 'network', message: 'socket hang up' } satisfies RpcFailure,
}

// A balancer whose other backend lacks the method, a proxy that does not allow it, another form of it, and a
// node that fails.
const UNUSABLE: readonly RpcReply[] = [
  error(-32601, `the method ${SEND_SYNC} does not exist/is not available`),
  error(-32602, 'too many arguments, want at most 1'),
  { ok: false, failure: { kind: 'http', status: 405, message: 'Method Not Allowed' } },
  error(-32603, 'internal error'),
]

function settingsOf({ rules, form }: Pick<SyncSendsOptions, 'rules' | 'form'>): SyncSettings {
  const mode = rules === 'base' ? 'preconfirmed' : 'plain'
  const syncSend = form === 'eip7966' ? 'eip7966' : 'node'
  if (form === 'anvil') return { rules: 'anvil', mode, syncSend }
  return { rules: rules === 'geth' ? 'geth' : 'base', mode, syncSend }
}

function replyOf(reply: NodeReply): RpcReply {
  if ('result' in reply) return ok(reply.result)
  const { code, message, data } = reply.error
  return error(code, message, data)
}
