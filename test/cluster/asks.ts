import { type Address, type Hex, stringToHex } from 'viem'
import type { Fate, TxlaneErrorCode } from '../../src/errors/base.js'

/** What is wanted, by whoever asks for it: one id is one transaction, however many processes ask. */
export type Ask = {
  readonly id: string
  readonly kind: 'plain' | 'cancel' | 'replace'
  /** Of the chain's accounts: the lane it goes through. */
  readonly account: number
}

const SINK: Address = `0x${'51'.repeat(20)}`

/** The id of what takes the place of an ask of the kind `replace`. */
export const replacementOf = (id: string): string => `${id}-instead`

/** No two ids have the same one: it is how a transaction is known again on the chain. */
export const dataOf = (id: string): Hex => stringToHex(id)

export const TARGET = SINK

/** What a process was told by the library, and what it tells of itself. Each is a line of JSON. */
export type Tell =
  /** Its senders are ready. */
  | { readonly tell: 'open' }
  /** `send` resolved: it is in the store. */
  | { readonly tell: 'kept'; readonly id: string }
  | { readonly tell: 'accepted'; readonly id: string; readonly atMs: number }
  | {
      readonly tell: 'sealed'
      readonly id: string
      readonly hash: Hex
      readonly nonce: number
      readonly status: string
    }
  | {
      readonly tell: 'failed'
      readonly id: string
      readonly code: TxlaneErrorCode
      readonly fate: Fate
      readonly message: string
    }
  | {
      readonly tell: 'cancelled'
      readonly id: string
      readonly result: 'removed' | 'cancelled' | 'tooLate'
    }
  /** All that this process will say of the ask has been said. */
  | { readonly tell: 'answered'; readonly id: string }
  | LaneTell
  /** It is about to stop itself, with the first part of a request out. */
  | { readonly tell: 'stops' }
  /** It was to stop itself in a request, and had none to send for so long. */
  | { readonly tell: 'has nothing to send' }
  /** Something that is no answer to any ask. */
  | { readonly tell: 'trouble'; readonly message: string }
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

export type StoreSettings =
  | { readonly kind: 'postgres'; readonly connectionString: string; readonly schema: string }
  | { readonly kind: 'sqlite'; readonly path: string }

/** What a process is given first. */
export type ProcessOrder = {
  readonly url: string
  readonly chainId: number
  readonly blockTimeMs: number
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
