import type { Address, Chain, Hash } from 'viem'
import type { Tx } from './types.js'

/** Why a lane reserves no nonces for now. Repair goes on under every one of them. */
export type HoldReason =
  /** `pause()`; lifted by `resume()`. */
  | 'paused'
  /** The head cannot be paid; lifted when the balance can. */
  | 'starved'
  /** A no-op cannot be paid or is refused; lifted when one is accepted. */
  | 'blocked'
  /** Nobody knows whether a commit took; lifted when the store has been read again. */
  | 'unknownCommit'
  /** The floor moved by more than 64 without us; lifted by `resume()`. */
  | 'jump'
  /** A block beyond `lossDepth` left the chain; lifted by `resume()`. */
  | 'deepReorg'
  /** The store knows less than the chain at start; lifted by `resume()`. */
  | 'storeBehindChain'

/** What a lane looks like now. */
export type LaneSnapshot = {
  /**
   * This process hands out the lane's nonces. Otherwise another one does, or nobody while there is nothing to do: the
   * counts are the chain's own then, and what only the holder's books say (holes, holds, window, balance) is missing.
   */
  holder: boolean
  chainId: number
  address: Address
  /** Lowest nonce not used in the latest sealed block. */
  floor: number
  /** Next nonce to hand out when there is no hole. */
  cursor: number
  /** All below is covered. */
  coveredTo: number
  window: number
  holes: number[]
  queued: number
  /** Unfinished nonces: reserved, live or outside. */
  inFlight: number
  holds: HoldReason[]
  head: { number: number; hash: Hash } | undefined
  balanceWei: bigint | undefined
  /** The code at the address: none, a contract, or a delegation (EIP-7702). */
  account: { kind: 'plain' } | { kind: 'contract' } | { kind: 'delegated'; to: Address } | { kind: 'unknown' }
  endpoints: { name: string; role: string; profile: object; requests: number; calls: number }[]
}

type TxEvents<chain extends Chain> = Record<
  | 'queued'
  | 'signed'
  | 'accepted'
  | 'preconfirmed'
  | 'sealed'
  | 'reverted'
  | 'failed'
  | 'cancelled'
  | 'superseded'
  | 'replaced'
  | 'rebroadcast'
  | 'stuck'
  | 'feeCeiling',
  { tx: Tx<chain> }
>
type NonceEvents = Record<
  'foreign' | 'displaced' | 'unresolved' | 'gap' | 'gapFilled' | 'reorged' | 'deepReorg',
  { nonce: number; hash?: Hash | undefined; tx?: Tx | undefined }
>

/** Something changed at one endpoint. */
export type EndpointEvent = {
  /** Origin of its URL, or the name of its transport. */
  name: string
  role: 'both' | 'read' | 'send'
  /**
   * `profile`: more is known of what it does. `up`: it answers, and is used from now on. `down`: it does not answer,
   * or not in time, or lags: it is not read. `wrongChain`: it is on another chain, and left out for as long as it is.
   * `reader`: counts and blocks are read here from now on.
   */
  change: 'profile' | 'up' | 'down' | 'wrongChain' | 'reader'
  profile: object
}

/** What `on` tells. `held` and `released` carry the reason. */
export type SenderEvents<chain extends Chain = Chain> = TxEvents<chain> &
  NonceEvents &
  Record<'held' | 'released', { reason: HoldReason }> & {
    endpoint: EndpointEvent
    /** Another process has taken the lane: this one goes on as its guest. */
    leaseLost: { epoch: number }
    error: { error: Error }
  }
