import type { Answer, Trouble } from '../sweep/answers.js'
import type { Wanted } from '../sweep/asks.js'
import type { ChainSettings, StoreSettings } from '../sweep/settings.js'

/** What is wanted, by whoever asks for it: one id is one transaction, however many processes ask. */
export type Ask = Wanted & {
  readonly kind: 'plain' | 'cancel' | 'replace'
  /** Of the chain's accounts: the lane it goes through. */
  readonly account: number
}

/** What a process was told by the library, and what it tells of itself. Each is a line of JSON. */
export type Tell =
  /** Its senders are ready. */
  | { readonly tell: 'open' }
  | Answer
  | { readonly tell: 'accepted'; readonly id: string; readonly atMs: number }
  /** All that this process will say of the ask has been said. */
  | { readonly tell: 'answered'; readonly id: string }
  | LaneTell
  /** It is about to stop itself, with the first part of a request out. */
  | { readonly tell: 'stops' }
  /** It was to stop itself in a request, and had none to send for so long. */
  | { readonly tell: 'has nothing to send' }
  | Trouble
  /** It has closed everything. With the processor time that it took, all in all. */
  | { readonly tell: 'done'; readonly cpuMs: number }

/**
 * Who has a lane. `holds`: the store gave it the lease; `sends`: the first request with a transaction of the lane since
 * then; `gives`: the lease was given back; `loses`: another has it.
 */
export type LaneTell = {
  readonly tell: 'holds' | 'sends' | 'gives' | 'loses'
  readonly account: number
  readonly epoch: number
  readonly atMs: number
}

/** What a process is given first. */
export type ProcessOrder = ChainSettings & {
  /** How many of the chain's accounts it sends from. */
  readonly accounts: number
  readonly store: StoreSettings
}

/** What it is told after that. */
export type Command =
  | { readonly do: 'ask'; readonly asks: readonly Ask[] }
  /** The next request that sends transactions is left half sent, and the process stands still; if one comes in time. */
  | { readonly do: 'stop in a request'; readonly withinMs: number }
  /** Whatever is open. */
  | { readonly do: 'close' }
