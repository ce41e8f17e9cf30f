import type { Hash } from 'viem'
import type { Slot, UsedBy } from '../../src/ledger/slot.js'
import type { Use, World } from './world.js'

/**
 * A and B are only names: the ledger only compares them, and no request (cancel, replace) concerns A once
 * none is left. Then two worlds that differ only in the choice of names are equal, and the name that comes
 * first becomes A. In a trace the two may therefore swap.
 */
export function sameNamed(world: World): World {
  const commands = world.left.cancel + world.left.replace + world.cancelled.length
  if (commands > 0 || world.replaced || world.fates.R !== 'none' || world.fates.B === undefined) return world
  return firstName(world) === 'B' ? swapped(world) : world
}

/** The name that comes first, in an order that does not depend on the names. */
function firstName(world: World): string | undefined {
  for (let nonce = 0; nonce < world.slots.length; nonce++) {
    const name = nameIn(world.slots[nonce]) ?? nameOf(world.chain[nonce]?.hash)
    if (name !== undefined) return name
  }
  for (const { claim } of world.signing) if (claim === 'A' || claim === 'B') return claim
  for (const { block } of world.stale) if (nameOf(block) !== undefined) return nameOf(block)
  const { A = '', B = '' } = world.fates
  if (A !== B) return A < B ? 'A' : 'B'
  if (world.queue.includes('A') !== world.queue.includes('B')) return world.queue.includes('A') ? 'A' : 'B'
  return undefined
}

function nameIn(slot: Slot | undefined): string | undefined {
  if (slot === undefined) return undefined
  if (slot.state === 'reserved') return slot.claim
  if (slot.state === 'live' || slot.state === 'used') {
    for (const claim of slot.claims) if (claim === 'A' || claim === 'B') return claim
  }
  for (const { hash } of slot.attempts) if (nameOf(hash) !== undefined) return nameOf(hash)
  return undefined
}

function nameOf(hash: Hash | undefined): string | undefined {
  const letter = hash?.charAt(2)
  return letter === 'A' || letter === 'B' ? letter : undefined
}

const OTHER: Readonly<Record<string, string>> = { A: 'B', B: 'A' }
const swap = (name: string): string => OTHER[name] ?? name
const swapMaybe = (name: string | undefined): string | undefined => (name === undefined ? name : swap(name))

function swapHash(hash: Hash): Hash {
  const letter = OTHER[hash.charAt(2)]
  return letter === undefined ? hash : `0x${letter}${hash.slice(3)}`
}

function swapped(world: World): World {
  const bytes = Object.entries(world.bytes).map(([hash, bits]) => [swapHash(hash as Hash), bits])
  const { A = '', B = '' } = world.fates
  return {
    ...world,
    slots: world.slots.map(swapSlot),
    queue: world.queue.map(swap).sort(),
    doubtful: world.doubtful.map(swap).sort(),
    fates: { ...world.fates, A: B, B: A },
    signing: world.signing.map((task) => ({ ...task, claim: swapMaybe(task.claim) })),
    commits: world.commits.map(({ nonce, attempt }) => ({ nonce, attempt: swapAttempt(attempt) })),
    outbox: world.outbox.map(swapHash).sort(),
    bytes: Object.fromEntries(bytes),
    chain: world.chain.map(swapUse),
    stale: world.stale.map(swapUse),
  }
}

const swapUse = (use: Use): Use => ({ ...use, hash: swapHash(use.hash), block: swapHash(use.block) })

const swapAttempt = (attempt: Slot['attempts'][number]): Slot['attempts'][number] => ({
  ...attempt,
  hash: swapHash(attempt.hash),
  claim: swapMaybe(attempt.claim),
})

function swapSlot(slot: Slot | undefined): Slot | undefined {
  if (slot === undefined) return undefined
  const attempts = slot.attempts.map(swapAttempt)
  if (slot.state === 'reserved') return { ...slot, attempts, claim: swap(slot.claim) }
  if (slot.state === 'live') return { ...slot, attempts, claims: slot.claims.map(swap) }
  if (slot.state !== 'used') return { ...slot, attempts }
  const { by, at } = slot
  return {
    ...slot,
    attempts,
    claims: slot.claims.map(swap),
    at: at && { ...at, hash: swapHash(at.hash) },
    by: swapBy(by),
  }
}

/** A use that the operator reported has a claim but no hash. */
function swapBy(by: UsedBy): UsedBy {
  if (by.kind === 'unproven') return by
  const hash = by.hash && swapHash(by.hash)
  if (by.kind === 'claim') return { ...by, hash, claim: swap(by.claim) }
  return { ...by, hash } as UsedBy
}
