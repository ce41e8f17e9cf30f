import type { Hex } from 'viem'
import { fail, INVALID_PARAMS, type RpcReply } from '../rpc/rpcTypes.js'

/** The timeout rules and the answer after the timeout of `eth_sendRawTransactionSync` on one kind of node. */
export type SyncRules = {
  /** Milliseconds to wait, or the refusal of the parameters after the signed transaction. */
  waitMs(more: readonly unknown[]): number | RpcReply
  timedOut(hash: Hex, waitMs: number): RpcReply
}

/** Code 4 of EIP-7966: the transaction was added, and has no receipt yet. */
const TIMED_OUT = 4

/**
 * Sources: `SendRawTransactionSync` in internal/ethapi/api.go of go-ethereum 1.17.10; `send_raw_transaction_sync`
 * of base/base; Base's Flashblocks RPC for the limit of 6 s; a running anvil 1.7.
 */
export function syncRulesOf({ rules, mode, syncSend }: SyncSettings): SyncRules {
  if (syncSend === 'eip7966') return EIP_7966
  if (rules === 'geth') return GETH
  if (rules === 'anvil') return ANVIL
  return mode === 'preconfirmed' ? FLASHBLOCKS : RETH
}

export type SyncSettings = {
  readonly rules: 'base' | 'geth' | 'anvil'
  readonly mode: 'preconfirmed' | 'fastBlocks' | 'plain'
  readonly syncSend: 'node' | 'eip7966' | 'missing'
}

const GETH: SyncRules = {
  waitMs: ([given]) => clamped(given, 20_000, 60_000),
  timedOut: (hash, waitMs) =>
    fail(
      TIMED_OUT,
      `The transaction was added to the transaction pool but wasn't processed in ${waitMs === 60_000 ? '1m0s' : shown(waitMs)}`,
      hash,
    ),
}

const RETH: SyncRules = {
  waitMs: ([given]) => clamped(given, 30_000, 30_000),
  timedOut: (hash, waitMs) =>
    fail(
      TIMED_OUT,
      `Transaction ${hash} was added to the mempool but wasn't confirmed within ${shown(waitMs)}.`,
    ),
}

const FLASHBLOCKS_MS_MAX = 6_000
const FLASHBLOCKS: SyncRules = {
  ...RETH,
  waitMs([given]) {
    const waitMs = clamped(given, FLASHBLOCKS_MS_MAX, Number.POSITIVE_INFINITY)
    if (typeof waitMs !== 'number' || waitMs <= FLASHBLOCKS_MS_MAX) return waitMs
    return fail(INVALID_PARAMS, `timeout ${waitMs}ms exceeds the maximum of ${FLASHBLOCKS_MS_MAX}ms`)
  },
}

const ANVIL: SyncRules = {
  waitMs: (more) =>
    more.length === 0
      ? 30_000
      : fail(INVALID_PARAMS, `expected params sequence with length 1 but got ${1 + more.length}`),
  timedOut: () => fail(-32603, 'Transaction confirmation timeout'),
}

const EIP_7966: SyncRules = {
  waitMs: ([given]) => clamped(given, 2_000, 60_000),
  timedOut: (hash, waitMs) =>
    fail(
      TIMED_OUT,
      `The transaction was added to the mempool but wasn't processed in ${shown(waitMs)}.`,
      hash,
    ),
}

/** Zero and a missing timeout mean the default; a longer one than the maximum is shortened. */
function clamped(given: unknown, fallbackMs: number, maxMs: number): number | RpcReply {
  if (given === undefined || given === null || given === 0) return fallbackMs
  if (typeof given === 'number' && Number.isSafeInteger(given) && given > 0) return Math.min(given, maxMs)
  return fail(INVALID_PARAMS, 'invalid argument 1: the timeout must be a whole number of milliseconds')
}

/** A duration as Go and Rust print it, below a minute. */
function shown(ms: number): string {
  return ms < 1_000 ? `${ms}ms` : `${ms / 1_000}s`
}
