import type { Hash } from 'viem'
import type { SlotEvent } from '../../src/ledger/event.js'
import type { Slot } from '../../src/ledger/slot.js'
import type { Machine } from './shell.js'
import { must } from './violation.js'
import {
  claimOf,
  cursorOf,
  DEAD,
  isFree,
  LANDABLE,
  MISJUDGED,
  nonceOf,
  type Scope,
  UNCOMMITTED,
  type World,
} from './world.js'

/**
 * Checks the promises of every state; throws a `Violation` that names the broken one. The promises of a step
 * are checked at the step: re-queued transactions (P4), sent bytes (P5, P6), repeated reports (P8).
 */
export function checkPromises(scope: Scope, machine: Machine, world: World): void {
  const executed = executions(world)
  for (const claim of Object.keys(world.fates)) {
    checkOwner(world, claim)
    if (world.doubtful.includes(claim)) continue
    checkExecution(scope, world, claim, executed.filter((other) => other === claim).length)
  }
  checkReplaced(world, executed)
  for (const hash of Object.keys(world.bytes) as Hash[]) checkBytes(scope, world, hash)
  checkHoles(machine, world)
}

/** The transactions that the present chain has executed. */
function executions(world: World): string[] {
  return world.chain.flatMap((use) => claimOf(use.hash) ?? [])
}

/** P1, and P8: an open transaction waits in the queue or is bound to exactly one unfinished nonce. */
function checkOwner(world: World, claim: string): void {
  const fate = world.fates[claim]
  const places =
    world.slots.filter((slot) => boundTo(slot, claim)).length + Number(world.queue.includes(claim))
  if (fate === 'open') must(places === 1, 'P1', `${claim} is bound or waits in ${places} places`)
  else if (!world.doubtful.includes(claim))
    must(places === 0, 'P8', `${claim} was ${fate}, and is still bound in ${places} places`)
}

function boundTo(slot: Slot | undefined, claim: string): boolean {
  if (slot?.state === 'reserved') return slot.claim === claim
  if (slot?.state === 'used') return !slot.settled && slot.claims.includes(claim)
  return slot?.state === 'live' && slot.claims.includes(claim)
}

/**
 * P1: a nonce is bound to one transaction, and to the ones that it replaced on request; only one of them
 * executes.
 */
function checkReplaced(world: World, executed: readonly string[]): void {
  for (const slot of world.slots) {
    if (slot?.state !== 'live') continue
    const names = slot.claims.join('')
    must(slot.claims.length < 2 || (names === 'AR' && world.replaced), 'P1', `a nonce is bound to ${names}`)
  }
  const both = world.replaced && executed.includes('A') && executed.includes('R')
  must(!both || world.doubtful.includes('A'), 'P1', 'A executed, and R, which had replaced it')
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
  must(there, 'P4', `${claim} was reported as landed, and it has not`)
}

/** P2: journaled bytes are kept, and their nonce stays bound to their claim while they may land. */
function checkBytes(scope: Scope, world: World, hash: Hash): void {
  const nonce = nonceOf(hash)
  const slot = world.slots[nonce]
  const claim = claimOf(hash)
  const bits = world.bytes[hash] ?? 0
  if (bits & UNCOMMITTED) return
  const kept = slot?.state === 'final' || slot?.attempts.some((attempt) => attempt.hash === hash)
  must(kept === true, 'P2', `the journaled attempt ${hash} is forgotten`)
  const gone = (world.chain[nonce]?.depth ?? -1) >= scope.lossDepth
  if (!(bits & LANDABLE) || bits & (DEAD | MISJUDGED) || gone) return
  if (claim === undefined || world.doubtful.includes(claim)) {
    const held = slot?.state === 'live' || slot?.state === 'used' || slot?.state === 'final'
    must(held, 'P2', `${nonce} was freed while ${hash} may land`)
  } else {
    must(boundTo(slot, claim), 'P2', `${claim} was taken from ${nonce} while ${hash} may land`)
  }
}

/**
 * P3: an empty nonce below a bound one can be filled at once, by a queued transaction and by a no-op.
 * Following each state through a healed world checks that it is filled in the end.
 */
function checkHoles(machine: Machine, world: World): void {
  const cursor = cursorOf(world)
  for (let nonce = 0; nonce < cursor; nonce++) {
    if (!isFree(world, nonce)) continue
    const slot = world.slots[nonce]
    const voided = machine(nonce, slot, GAP_TIMER)
    must(
      voided.actions.some((action) => action.do === 'noop'),
      'P3',
      `the gap at ${nonce} is left alone`,
    )
    const filled = machine(nonce, slot, RESERVE)
    must(filled.slot.state === 'reserved', 'P3', `${nonce} is empty and cannot be reserved`)
  }
}

const GAP_TIMER: SlotEvent = { type: 'gapTimer', boundAbove: true, waiting: false, token: 2 }
const RESERVE: SlotEvent = { type: 'reserve', claim: '?', token: 2 }
