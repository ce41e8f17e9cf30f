import type { SendOutcome } from '../../../src/rpc/outcome.js'

/** Transactions that some node refuses, each for one reason. */
export const REFUSAL_NAMES = [
  'same bytes, pending',
  'same bytes, mined',
  'nonce too low',
  'replacement at +1 %',
  'replacement at +9 %',
  'replacement at +10 %',
  'gap of 5',
  'gap behind 64 others',
  'full pool',
  'max fee below the base fee',
  'tip of 0',
  'no funds',
  'no funds for the second',
  'gas below the intrinsic cost',
  'gas below the floor of EIP-7623',
  'gas above the block',
  'gas above 2^24',
  'another chain',
  'unprotected',
  'init code of 49,153 bytes',
  'data of 131,072 bytes',
  'type 4 without a tuple',
  'second of a delegated account',
  'gapped one of a delegated account',
  'delegation of a reserved account',
  'tip above the max fee',
  'signature of no key',
  'upper half of the curve',
  'highest nonce',
  'fee above one ether',
  'no transaction at all',
] as const
export type RefusalName = (typeof REFUSAL_NAMES)[number]

/** The state of the bytes after the node has made some blocks. */
export type Fate = 'mined' | 'pooled' | 'absent'

/** The classifier's result for the answer, and the later state of the bytes. */
export type Provocation = Pick<SendOutcome, 'outcome' | 'reason'> & {
  readonly counted: boolean
  readonly fate: Fate
  /** The reason, if the two contradict each other. */
  readonly because?: string
  /** The node may offer the bytes to its pool again at any time: they are absent, or already mined. */
  readonly isRetried?: boolean
}

/** `leftOut` is the reason why it cannot be provoked on this node. */
export type Expected = Provocation | { readonly leftOut: string }

/** Accepted, and in the next block. */
export const MINED: Provocation = { outcome: 'accepted', reason: 'unknown', counted: false, fate: 'mined' }

/** Accepted, and kept until the state changes. */
export const POOLED: Provocation = { outcome: 'accepted', reason: 'unknown', counted: false, fate: 'pooled' }

/** Answered with the hash, but not kept. */
export function dropped(because: string): Provocation {
  return { outcome: 'accepted', reason: 'unknown', counted: false, fate: 'absent', because }
}

/** Answered with the hash, but not kept until the node itself retries. */
export function retried(because: string): Provocation {
  return { ...dropped(because), isRetried: true }
}

/** Refused temporarily: the node would accept the same bytes in another state. */
export function refused(reason: Provocation['reason']): Provocation {
  return { outcome: 'refused', reason, counted: false, fate: 'absent' }
}

/** Refused, and waiting does not help. */
export function counted(reason: Provocation['reason']): Provocation {
  return { outcome: 'refused', reason, counted: true, fate: 'absent' }
}

/** Refused by every node permanently. */
export const INTRINSIC: Provocation = {
  outcome: 'intrinsic',
  reason: 'invalid',
  counted: false,
  fate: 'absent',
}
