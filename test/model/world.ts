import type { Hash } from 'viem'
import type { Attempt, BlockRef, Slot } from '../../src/ledger/slot.js'

/**
 * One state of the searched world: a lane of a few nonces, what its shell has under way, what nodes hold, and the
 * chain. Nothing in it is ever changed in place.
 */
export type World = {
  readonly slots: readonly (Slot | undefined)[]
  /** Transactions that wait for a nonce. A set: priorities may order them in any way. */
  readonly queue: readonly string[]
  /** What was reported of each transaction: `open` so far, `landed`, or how it ended. `none`: not sent yet. */
  readonly fates: Readonly<Record<string, string>>
  /** Transactions whose cancel was taken. */
  readonly cancelled: readonly string[]
  /** R was bound to A's nonce in its stead. */
  readonly replaced: boolean
  readonly signing: readonly Signing[]
  /** Handed to the store, and not answered. */
  readonly commits: readonly Commit[]
  /** Bytes that an action asked to be sent. */
  readonly outbox: readonly Hash[]
  /** The truth about each journaled attempt, as `LANDABLE | REFUSED | DEAD`. */
  readonly bytes: Readonly<Record<Hash, number>>
  /**
   * What used the nonces, from 0 up. The lane walks each block as it comes: what it does before it has seen a block
   * it might as well have done before there was one, since more may land then. What it is told late is evidence.
   */
  readonly chain: readonly Use[]
  /** Uses in blocks that left the chain and can still be read somewhere. */
  readonly stale: readonly Use[]
  /** Hold `deepReorg`: nothing is reserved until an operator has looked. */
  readonly held: boolean
  /**
   * Transactions with bytes at a nonce whose verdict a deep reorg took back, of which the operator said what is not so,
   * or whose bytes a node wrongly called worthless: for them P4 and P5 are not promised.
   */
  readonly doubtful: readonly string[]
  readonly left: Left
}

/** How often each adversity may still strike, and how many `any` of them together. */
export type Left = Readonly<Record<Adversity | 'any', number>>

export type Signing = { readonly nonce: number; readonly claim: string | undefined; readonly token: number }
export type Commit = { readonly nonce: number; readonly attempt: Attempt }
/** `depth`: children of its block, counted up to `lossDepth`. */
export type Use = { readonly hash: Hash; readonly block: Hash; readonly depth: number }

/** A node may include it. */
export const LANDABLE = 1
/** A node said that no node ever will. */
export const REFUSED = 2
/** Refused and nowhere else, so row 14 may free its nonce. */
export const DEAD = 4
/** Not ours to journal: sent from outside, and the lane was not told. */
export const UNTOLD = 8
/** A node said that no node ever will, and was wrong. */
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
  /** Bumps stop at so many attempts of one transaction at one nonce. */
  readonly attemptsMax: number
  readonly adversities: Partial<Record<Adversity, number>>
  /** No more than so many of the adversities in one history, whichever they are; without it, all of them. */
  readonly atMost?: number
  /**
   * What takes time, so that other things may happen meanwhile. The rest is done at once. A send that is not slow
   * arrives at once: what may land may also never land, so that hides nothing but refusals.
   */
  readonly slow?: readonly ('sign' | 'commit' | 'send')[]
  /** Keeps refusals, displacement and the like; else they are taken to be as bad as they can be. */
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

/** What outside code sends with a nonce that it was handed is a transaction of its own, one for each nonce. */
const OUTSIDE = 'XYZ'
export const outsideClaim = (nonce: number): string => OUTSIDE.charAt(nonce)
export const isOutsideClaim = (claim: string): boolean => OUTSIDE.includes(claim)
const outsideClaims = (scope: Scope): string[] =>
  scope.adversities.handOut === undefined ? [] : [...OUTSIDE].slice(0, scope.nonces)

/** Hashes spell what they stand for: `0xA1b` is the second attempt of A at nonce 1; N a no-op, F and P foreign. */
export const hashOf = (claim: string | undefined, nonce: number, index: number): Hash =>
  `0x${claim ?? 'N'}${nonce}${'abcdefgh'[index]}`
export const nonceOf = (hash: Hash): number => Number(hash[3])

/** The transaction that a hash executes; undefined for no-ops and for what is not ours. */
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

/** The lowest hole below the cursor, else the cursor; undefined where the scope has no nonce left. */
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

/** The lowest nonce not used, as the slots say. */
export function floorOf(world: World): number {
  const open = world.slots.findIndex((slot) => slot?.state !== 'used' && slot?.state !== 'final')
  return open < 0 ? world.slots.length : open
}

export const add = <T>(list: readonly T[], item: T): readonly T[] =>
  list.includes(item) ? list : [...list, item].sort()
export const addAll = <T>(list: readonly T[], items: readonly T[]): readonly T[] => items.reduce(add<T>, list)
export const without = <T>(list: readonly T[], item: T): readonly T[] =>
  list.filter((other) => other !== item)

/** States share what is left, so that it is spelt and kept once. */
const spent = new WeakMap<Left, Partial<Record<Adversity, Left>>>()

export function spend(world: World, kind: Adversity): World {
  if (world.left[kind] <= 0) throw new Error(`${kind} strikes too often`)
  const known = spent.get(world.left) ?? {}
  spent.set(world.left, known)
  known[kind] ??= capped({ ...world.left, [kind]: world.left[kind] - 1 }, world.left.any - 1)
  return { ...world, left: known[kind] }
}
