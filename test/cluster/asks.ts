import type { Answer, Trouble } from '../sweep/answers.js'
import type { Wanted } from '../sweep/asks.js'
import type { ChainSettings, StoreSettings } from '../sweep/settings.js'

/** A request for one transaction. One id is one transaction, however many processes ask for it. */
export type Ask = Wanted & {
  readonly kind: 'plain' | 'cancel' | 'replace'
  /** Index of one of the chain's accounts; its lane sends the transaction. */
  readonly account: number
}

/** A line of JSON on standard output: an answer of the library, or a report of the process about itself. */
export type Report =
  /** Its senders are ready. */
  | { readonly report: 'open' }
  | Answer
  | { readonly report: 'accepted'; readonly id: string; readonly atMs: number }
  /** The process will report nothing more about the ask. */
  | { readonly report: 'answered'; readonly id: string }
  | OwnerReport
  /** It is about to stop itself, after sending the first part of a request. */
  | { readonly report: 'stops' }
  /** It was to stop itself in a request, but had none to send within the time limit. */
  | { readonly report: 'has nothing to send' }
  | Trouble
  /** It has closed everything. `cpuMs` is its total processor time. */
  | { readonly report: 'done'; readonly cpuMs: number }

/**
 * A change of a lane's owner. `holds`: the store granted the lease; `sends`: the first request with a
 * transaction of the lane since then; `gives`: the lease was released; `loses`: another process has it.
 */
export type OwnerReport = {
  readonly report: 'holds' | 'sends' | 'gives' | 'loses'
  readonly account: number
  readonly epoch: number
  readonly atMs: number
}

/** The first line that a process is given. */
export type ProcessOrder = ChainSettings & {
  /** The number of the chain's accounts from which it sends. */
  readonly accounts: number
  readonly store: StoreSettings
}

/** A later command to a process. */
export type Command =
  | { readonly do: 'ask'; readonly asks: readonly Ask[] }
  /**
   * The process stops halfway through its next request that sends transactions, if one comes within the
   * time.
   */
  | { readonly do: 'stop in a request'; readonly withinMs: number }
  /** The process closes, even with open asks. */
  | { readonly do: 'close' }
