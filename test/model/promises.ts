import type { Hash } from 'viem'
import type { Slot } from '../../src/ledger/slot.js'
import { must } from './shell.js'
import { claimOf, DEAD, LANDABLE, nonceOf, type Scope, type World } from './world.js'

/** What has to hold in every state. Throws a `Violation` that names the promise. */
export function checkPromises(scope: Scope, world: World): void {
  const executed = executions(world)
  for (const claim of Object.keys(world.fates)) {
    checkOwner(world, claim)
    checkExecution(scope, world, claim, executed.filter((other) => other === claim).length)
  }
  const both = world.replaced && executed.includes('A') && executed.includes('R')
  must(!both, 'P1', 'A executed, and R, which had replaced it')
  for (const hash of Object.keys(world.bytes) as Hash[]) checkBytes(scope, world, hash)
}

/** What the chain as it is has executed. */
function executions(world: World): string[] {
  return world.chain.flatMap((use) => claimOf(use.hash) ?? [])
}

/** P1, and P8: what is open waits in the queue or is bound to exactly one unfinished nonce. */
function checkOwner(world: World, claim: string): void {
  const fate = world.fates[claim]
  const places =
    world.slots.filter((slot) => boundTo(slot, claim)).length + Number(world.queue.includes(claim))
  if (fate === 'open') must(places === 1, 'P1', `${claim} is bound or waits in ${places} places`)
  else must(places === 0, 'P8', `${claim} was ${fate}, and is still bound in ${places} places`)
}

function boundTo(slot: Slot | undefined, claim: string): boolean {
  if (slot?.state === 'reserved') return slot.claim === claim
  if (slot?.state === 'used') return !slot.settled && slot.claims.includes(claim)
  return slot?.state === 'live' && slot.claims.includes(claim)
}

/** P4 and P5. */
function checkExecution(scope: Scope, world: World, claim: string, times: number): void {
  const fate = world.fates[claim] ?? 'none'
  must(times <= 1, 'P4', `${claim} executed ${times} times`)
  if (fate === 'open' || fate === 'none') return
  if (fate !== 'landed') {
    must(times === 0, 'P5', `${claim} executed after it ended as ${fate}`)
    return
  }
  const there = world.chain.some((use) => claimOf(use.hash) === claim && use.depth >= scope.lossDepth)
  must(there, 'P4', `${claim} was told to have landed, and it has not`)
}

/** P2: journaled bytes are kept, and their nonce stays bound to what they carry while they may land. */
function checkBytes(scope: Scope, world: World, hash: Hash): void {
  const nonce = nonceOf(hash)
  const slot = world.slots[nonce]
  const claim = claimOf(hash)
  const bits = world.bytes[hash] ?? 0
  const kept = slot?.state === 'final' || slot?.attempts.some((attempt) => attempt.hash === hash)
  must(kept === true, 'P2', `the journaled attempt ${hash} is forgotten`)
  const gone = (world.chain[nonce]?.depth ?? -1) >= scope.lossDepth
  if (!(bits & LANDABLE) || bits & DEAD || gone) return
  if (claim === undefined) {
    const held = slot?.state === 'live' || slot?.state === 'used' || slot?.state === 'final'
    must(held, 'P2', `${nonce} was freed while ${hash} may land`)
  } else {
    must(boundTo(slot, claim), 'P2', `${claim} was taken from ${nonce} while ${hash} may land`)
  }
}
