import type { Address, Hash } from 'viem'
import type { BlockRef } from '../../ledger/slot.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import type { TagWanted } from './tags.js'

/** A sealed block as the tracker walks it: linked to the one below by its parent hash. */
export type SealedBlock = BlockRef & {
  readonly parentHash: Hash
  /** Seconds since the epoch. */
  readonly timestamp: number
  readonly baseFeePerGas: bigint | undefined
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  readonly hashes: readonly Hash[]
  /** As in `LightHeader`. */
  readonly fork?: 'shanghai' | 'prague' | undefined
}

/** From the fastest to the slowest. */
export const PACES = ['cadence', 'head', 'block'] as const

/**
 * How closely a follower has to look: at the cadence; as soon as blocks say more, pending or sealed, since nothing else
 * does (`head`); once a sealed block; or not at all.
 */
export type Pace = (typeof PACES)[number] | 'idle'

/** Undefined where nobody looks. */
export function fastestOf(paces: ReadonlySet<Pace>): Exclude<Pace, 'idle'> | undefined {
  return PACES.find((pace) => paces.has(pace))
}

/** Tags that a follower waits for; `latest` and `pending` are read for everybody. */
export type WantedTags = { readonly safe: TagWanted; readonly finalized: TagWanted }

/** The account's counts at both tags, as far as they were read. */
export type Counts = {
  latest: number | undefined
  pending: number | undefined
  /** When they were asked for, in clock milliseconds. */
  readonly askedAtMs: number
}

/** What one tick has read. */
export type Look = {
  /** When it was asked for, in clock milliseconds. */
  readonly askedAtMs: number
  /** A pending block above the head was read. */
  readonly hasPending: boolean
  /** How often the pending block was made anew, as far as looks have shown; undefined where its rhythm is not known. */
  readonly refreshes: number | undefined
}

/**
 * What the tracker tells, one lane's share of it. Called in the order of the chain, never while a tick is open. What takes
 * several turns of the event loop is awaited before the next is told.
 */
export type Follower = {
  readonly address: Address
  pace(): Pace
  tags(): WantedTags
  wantsBalance(): boolean
  /** The count at `pending` is read for it, whatever the endpoint is known to count there. */
  wantsPending?(): boolean
  /** A block joined after what is open was sent, and does not hold it: its counts may tell why. */
  isPassedOver?(): boolean
  /** What to ask at a tick in place of the account's counts; `ticked` is told once all of it was taken. */
  reads?(): readonly { readonly call: RpcCall; readonly take: (reply: RpcReply) => void }[]
  /** A block joined the chain. `own` are the watched hashes in it. */
  sealed(block: SealedBlock, own: readonly Hash[]): Promise<void>
  /** A block left the chain: told from the tip downwards, before those that replace it. */
  left(block: BlockRef): void
  /** Watched hashes seen in the pending block of that number, each told once a number. */
  preconfirmed(blockNumber: number, own: readonly Hash[]): void
  /** The same from somebody else's feed, whatever the endpoint shows as pending. */
  observed(blockNumber: number, own: readonly Hash[]): void
  /** A trigger, never evidence: nodes behind one URL may disagree. `head` is the tip at which it was read. */
  counts(counts: Counts, head: number): void
  balance(wei: bigint): void
  /** All of a tick has been told. `newHead`: a sealed block joined in it. */
  ticked(newHead: boolean, look: Look): Promise<void>
  /** A tick brought no answer. Repeats for as long as it goes on. */
  unreachable(why: string): void
  /** Somebody threw while a tick was told: a bug, never the endpoint's doing. */
  broken(error: unknown): void
}
