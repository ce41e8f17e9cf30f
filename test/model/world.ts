import type { Hash } from 'viem'
import type { Attempt, BlockRef, Slot } from '../../src/ledger/slot.js'

/**
 * One state of the searched world: a lane of a few nonces, the pending work of its shell, the bytes that
 * nodes hold, and the chain. It is immutable.
 */
export type World = {
  readonly slots: readonly (Slot | undefined)[]
  /** Transactions that wait for a nonce. A set: priorities may order them in any way. */
  readonly queue: readonly string[]
  /**
   * The reported outcome of each transaction: `open` so far, `landed`, or the kind of its end. `none`: not
   * sent yet.
   */
  readonly fates: Readonly<Record<string, string>>
  /** Transactions whose cancel was accepted. */
  readonly cancelled: readonly string[]
  /** R was bound to A's nonce in its place. */
  readonly replaced: boolean
  readonly signing: readonly Signing[]
  /** Handed to the store, without an answer so far. */
  readonly commits: readonly Commit[]
  /** Bytes that an action requested to send. */
  readonly outbox: readonly Hash[]
  /** The truth about each journaled attempt, as `LANDABLE | REFUSED | DEAD`. */
  readonly bytes: Readonly<Record<Hash, number>>
  /**
   * The uses of the nonces, from 0 up. The lane walks each block as it comes. That loses no behaviour: an
   * action before the lane has seen a block could also have come before the block existed, when even more
   * may land. Late observations are evidence.
   */
  readonly chain: readonly Use[]
  /** Uses in blocks that left the chain and can still be read from some endpoint. */
  readonly stale: readonly Use[]
  /** Hold `deepReorg`: nothing is reserved until an operator has checked. */
  readonly held: boolean
  /**
   * Transactions for which P4 and P5 are not promised: with bytes at a nonce whose verdict a deep reorg took
   * back, with a wrong statement of the operator, or with bytes that a node wrongly called invalid.
   */
  readonly doubtful: readonly string[]
  readonly left: Left
}

/** How often each adversity may still strike, and how many in total (`any`). */
export type Left = Readonly<Record<Adversity | 'any', number>>

export type Signing = { readonly nonce: number; readonly claim: string | undefined; readonly token: number }
export type Commit = { readonly nonce: number; readonly attempt: Attempt }
/** `depth` is the number of descendants of its block, up to `lossDepth`. */
export type Use = { readonly hash: Hash; readonly block: Hash; readonly depth: number }

/** A node may include it. */
export const LANDABLE = 1
/** A node stated that no node will ever include it. */
export const REFUSED = 2
/** Refused and nowhere else, so row 14 may free its nonce. */
export const DEAD = 4
/** Not ours to journal: sent by outside code that did not commit it to the lane. */
export const UNCOMMITTED = 8
/** A node stated that no node will ever include it, and was wrong. */
export const MISJUDGED = 16

export const ADVERSITIES = [
  'foreign',
  'reorg',
  'takeover',
  'cancel',
  'replace',
  'intrinsic',
  'bump',
  'void',
  'signFails',
  'commitLost',
  'handOut',
  'seeded',
  'passed',
  'staleFork',
  'deepReorg',
  'lie',
  'wrongWord',
] as const
export type Adversity = (typeof ADVERSITIES)[number]

export type Scope = {
  readonly name: string
  readonly nonces: number
  readonly transactions: readonly string[]
  readonly lossDepth: number
  /** Bumps stop at this number of attempts of one transaction at one nonce. */
  readonly attemptsMax: number
  readonly adversities: Partial<Record<Adversity, number>>
  /**
   * The total limit on adversities of any kind in one history; without it, each kind has only its own limit.
   */
  readonly atMost?: number
  /**
   * Work that takes time, so that other events may happen meanwhile; other work completes at once. A send
   * that is not slow arrives at once: bytes that may land may also never land, so that hides only refusals.
   */
  readonly slow?: readonly ('sign' | 'commit' | 'send')[]
  /** Keeps refusals, displacement and similar facts; otherwise they take their worst values. */
  readonly facts?: boolean
}

export function begin(scope: Scope): World {
  const claims = [...scope.transactions, 'R', ...outsideClaims(scope)]
  return {
    slots: Array.from({ length: scope.nonces }, () => undefined),
    queue: [...scope.transactions],
    fates: Object.fromEntries(
      claims.map((name) => [name, scope.transactions.includes(name) ? 'open' : 'none']),
    ),
    cancelled: [],
    replaced: false,
    signing: [],
    commits: [],
    outbox: [],
    bytes: {},
    chain: [],
    stale: [],
    held: false,
    doubtful: [],
    left: budgetOf(scope),
  }
}

function budgetOf(scope: Scope): Left {
  const limits = ADVERSITIES.map((kind) => scope.adversities[kind] ?? 0)
  const any = Math.min(
    scope.atMost ?? Number.POSITIVE_INFINITY,
    limits.reduce((sum, limit) => sum + limit, 0),
  )
  return capped(Object.fromEntries(ADVERSITIES.map((kind, index) => [kind, limits[index]])) as Left, any)
}

const capped = (left: Left, any: number): Left => {
  const kinds = ADVERSITIES.map((kind) => [kind, Math.min(any, left[kind])])
  return { ...Object.fromEntries(kinds), any } as Left
}

/** The transaction that outside code sends with a reserved nonce has a claim of its own, one per nonce. */
const OUTSIDE = 'XYZ'
export const outsideClaim = (nonce: number): string => OUTSIDE.charAt(nonce)
export const isOutsideClaim = (claim: string): boolean => OUTSIDE.includes(claim)
const outsideClaims = (scope: Scope): string[] =>
  scope.adversities.handOut === undefined ? [] : [...OUTSIDE].slice(0, scope.nonces)

/**
 * Hashes spell their content: `0xA1b` is the second attempt of A at nonce 1; N is a no-op, F and P are
 * foreign.
 */
export const hashOf = (claim: string | undefined, nonce: number, index: number): Hash =>
  `0x${claim ?? 'N'}${nonce}${'abcdefgh'[index]}`
export const nonceOf = (hash: Hash): number => Number(hash[3])

/** The transaction that a hash executes; undefined for no-ops and foreign transactions. */
export function claimOf(hash: Hash): string | undefined {
  const letter = hash.charAt(2)
  return 'NFP'.includes(letter) ? undefined : letter
}

export const blockRef = (use: Use): BlockRef => ({ number: 0, hash: use.block })

export function attemptOf(world: World, nonce: number, claim: string | undefined): Attempt {
  const known = [...Object.keys(world.bytes), ...world.commits.map((commit) => commit.attempt.hash)]
  const letter = claim ?? 'N'
  const index = known.filter((hash) => hash[2] === letter && Number(hash[3]) === nonce).length
  const fees = { gasPrice: 1n }
  return {
    hash: hashOf(claim, nonce, index),
    raw: '0x',
    fees,
    gas: 21_000n,
    claim,
    epoch: 1,
    sends: 0,
    accepted: false,
  }
}

/** The lowest hole below the cursor, else the cursor; undefined if the scope has no nonce left. */
export function nextNonce(world: World): number | undefined {
  const cursor = cursorOf(world)
  for (let nonce = 0; nonce < cursor; nonce++) if (isFree(world, nonce)) return nonce
  return cursor < world.slots.length ? cursor : undefined
}

export function cursorOf(world: World): number {
  let cursor = world.slots.length
  while (cursor > 0 && isFree(world, cursor - 1)) cursor--
  return cursor
}

export function isFree(world: World, nonce: number): boolean {
  const slot = world.slots[nonce]
  return slot === undefined || slot.state === 'hole'
}

/** The lowest nonce that is unused according to the slots. */
export function floorOf(world: World): number {
  const open = world.slots.findIndex((slot) => slot?.state !== 'used' && slot?.state !== 'final')
  return open < 0 ? world.slots.length : open
}

export const add = <T>(list: readonly T[], item: T): readonly T[] =>
  list.includes(item) ? list : [...list, item].sort()
export const addAll = <T>(list: readonly T[], items: readonly T[]): readonly T[] => items.reduce(add<T>, list)
export const without = <T>(list: readonly T[], item: T): readonly T[] =>
  list.filter((other) => other !== item)

/** States share their `left` objects, so that each is spelt and stored once. */
const spent = new WeakMap<Left, Partial<Record<Adversity, Left>>>()

export function spend(world: World, kind: Adversity): World {
  if (world.left[kind] <= 0) throw new Error(`${kind} strikes too often`)
  const known = spent.get(world.left) ?? {}
  spent.set(world.left, known)
  known[kind] ??= capped({ ...world.left, [kind]: world.left[kind] - 1 }, world.left.any - 1)
  return { ...world, left: known[kind] }
}
