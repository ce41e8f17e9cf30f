import type { Hash } from 'viem'
import type { SlotAction, SlotEvent } from '../../src/ledger/event.js'
import { isUsed, lastClaim, newestAttempt, type Slot, unboundBy, wantedClaim } from '../../src/ledger/slot.js'
import type { transition } from '../../src/ledger/transition.js'
import { must, Violation } from './violation.js'
import {
  type Adversity,
  add,
  claimOf,
  DEAD,
  isOutsideClaim,
  LANDABLE,
  nonceOf,
  type Scope,
  spend,
  UNCOMMITTED,
  type World,
  without,
} from './world.js'

export type Machine = typeof transition

export type Taken = { readonly world: World; readonly row: number }

/** Events that our own code requests. All others are observations, and may be repeated. */
const ASKED: ReadonlySet<SlotEvent['type']> = new Set([
  'reserve',
  'handOut',
  'replace',
  'committing',
  'sent',
  'stuck',
  'speedUp',
])

/** Actions that a repeated observation must not repeat. */
const FINAL: ReadonlySet<SlotAction['do']> = new Set(['end', 'landed', 'queueAgain', 'hold'])

/** The shell: passes an event through the table and performs the resulting actions. */
export function take(scope: Scope, machine: Machine, world: World, nonce: number, event: SlotEvent): Taken {
  const taken = taking(scope, machine, world, nonce, event)
  if (event.type === 'sealed' && event.walked) checkWalked(taken.world, nonce, claimOf(event.hash))
  return taken
}

function taking(scope: Scope, machine: Machine, world: World, nonce: number, event: SlotEvent): Taken {
  const before = world.slots[nonce]
  const { slot, actions, row } = machine(nonce, before, event)
  if (row === 0 && (slot === before || before === undefined)) return { world, row }
  if (slot !== before && !ASKED.has(event.type)) {
    const again = machine(nonce, slot, event).actions.find((action) => FINAL.has(action.do))
    must(again === undefined, 'P8', `${event.type} seen twice makes ${again?.do} twice`)
  }
  if (before?.state === 'live' && before.displaced && before.end === undefined && event.type === 'stuck') {
    const waits = actions.every((action) => action.do !== 'bump' && action.do !== 'noop')
    must(waits, 'row 17', 'a displaced nonce is bumped or voided unasked')
  }
  let next = slot === before ? world : { ...world, slots: withSlot(world, nonce, slot) }
  if (row === 14) next = { ...next, bytes: withDead(next, nonce) }
  if (event.type === 'refuted' && before !== undefined) next = reopened(next, before)
  for (const action of actions) {
    next =
      action.do === 'reclaim'
        ? reclaimed(scope, machine, next, nonce, action.claim)
        : perform(scope, next, nonce, action, event)
  }
  return { world: next, row }
}

/** Own attempts win: a transaction whose single execution the walk reported is sent at no other nonce. */
function checkWalked(world: World, nonce: number, claim: string | undefined): void {
  if (claim === undefined || world.fates[claim] !== 'open') return
  if (world.chain.filter((use) => claimOf(use.hash) === claim).length > 1) return
  const waits = world.queue.includes(claim)
  const wanted = world.slots.some((slot, other) => {
    if (other === nonce || slot === undefined) return false
    return slot.state === 'live' ? wantedClaim(slot) === claim : lastClaim(slot) === claim && !isUsed(slot)
  })
  must(!waits && !wanted, 'P4', `${claim} is to be sent elsewhere, though it has executed at ${nonce}`)
}

/** Applies an adversity. It counts as spent only if it changes the world. */
export function struck(
  scope: Scope,
  machine: Machine,
  world: World,
  kind: Adversity,
  nonce: number,
  event: SlotEvent,
): World {
  const { world: next } = take(scope, machine, world, nonce, event)
  return next === world ? world : spend(next, kind)
}

/**
 * A transaction of the nonce has executed there after all, so its claim leaves the queue and every other
 * nonce.
 */
function reclaimed(scope: Scope, machine: Machine, world: World, nonce: number, claim: string): World {
  let next: World = { ...world, queue: without(world.queue, claim) }
  const slots = world.slots.filter((slot) => slot !== undefined)
  for (const { nonce: other } of unboundBy(slots, nonce, claim))
    next = take(scope, machine, next, other, { type: 'executedElsewhere', claim, token: 2 }).world
  // In time: it executes once, and no end of it was reported.
  const isInTime = world.fates[claim] === 'open' && !mayLandBeside(next, nonce, claim)
  return isInTime ? { ...next, doubtful: without(next.doubtful, claim) } : next
}

/** True if bytes of the claim are journaled at another nonce, or about to be. */
function mayLandBeside(world: World, nonce: number, claim: string): boolean {
  const known = [...Object.keys(world.bytes), ...world.commits.map(({ attempt }) => attempt.hash)] as Hash[]
  return known.some((hash) => claimOf(hash) === claim && nonceOf(hash) !== nonce)
}

/**
 * The operator had settled the nonce, but it is unused: the claim that was reported as landed may still
 * land.
 */
function reopened(world: World, before: Slot): World {
  if (before.state !== 'used' || !before.settled || before.by.kind !== 'claim') return world
  const { claim } = before.by
  const after = world.slots[before.nonce]
  if (after?.state !== 'live' || !after.claims.includes(claim)) return world
  const fates = { ...world.fates, [claim]: 'open' }
  const replaced = world.replaced && claim !== 'A'
  return { ...world, fates, cancelled: without(world.cancelled, claim), replaced }
}

function withSlot(world: World, nonce: number, slot: Slot): World['slots'] {
  const slots = world.slots.slice()
  slots[nonce] = slot
  return slots
}

/** Bytes that row 14 freed are known to be nowhere, if the machine followed the row. */
function withDead(world: World, nonce: number): World['bytes'] {
  const known = world.slots[nonce]?.attempts ?? []
  return Object.fromEntries(
    Object.entries(world.bytes).map(([hash, bits]) => [
      hash,
      known.some((attempt) => attempt.hash === hash) && (bits & LANDABLE) === 0 ? bits | DEAD : bits,
    ]),
  )
}

function perform(scope: Scope, world: World, nonce: number, action: SlotAction, event: SlotEvent): World {
  switch (action.do) {
    case 'sign':
      return signing(world, nonce, action.claim, action.token)
    case 'noop':
      return signing(world, nonce, undefined, action.token)
    case 'bump':
      return bump(scope, world, nonce, action.token, event)
    case 'broadcast':
    case 'resend':
    case 'backOff':
      return post(world, action.hash)
    case 'queueAgain':
      return queueAgain(scope, world, nonce, action.claim)
    case 'end':
      return end(world, nonce, action.claim, action.as)
    case 'landed':
      return landed(scope, world, nonce, action.claim)
    case 'hold':
      return hold(scope, world, nonce)
    default:
      return world
  }
}

function signing(world: World, nonce: number, claim: string | undefined, token: number): World {
  // Only outside code signs its own bytes.
  if (claim !== undefined && isOutsideClaim(claim)) return world
  const same = world.signing.some(
    (task) => task.nonce === nonce && task.claim === claim && task.token === token,
  )
  return same ? world : { ...world, signing: [...world.signing, { nonce, claim, token }] }
}

function bump(scope: Scope, world: World, nonce: number, token: number, event: SlotEvent): World {
  const slot = world.slots[nonce]
  if (slot?.state !== 'live') throw new Violation('table', `a ${slot?.state ?? 'new'} nonce is bumped`)
  const claim = newestAttempt(slot)?.claim
  must(
    slot.end === undefined || claim === undefined,
    'row 21',
    `${claim} is bumped after its end was requested`,
  )
  must(!slot.displaced || event.type === 'speedUp', 'row 17', 'a displaced nonce is bumped unasked')
  const made = slot.attempts.filter((attempt) => attempt.claim === claim).length
  return made >= scope.attemptsMax ? world : signing(world, nonce, claim, token)
}

function post(world: World, hash: Hash): World {
  const claim = claimOf(hash)
  const fate = claim === undefined ? 'open' : world.fates[claim]
  must(fate === 'open' || fate === 'landed', 'P5', `bytes of ${claim} are sent after it ended as ${fate}`)
  const slot = world.slots[nonceOf(hash)]
  const its = claim === undefined || (slot?.state === 'live' && slot.claims.includes(claim))
  must(its, 'P1', `bytes of ${claim} are sent at ${nonceOf(hash)}, which is not its nonce`)
  must(world.bytes[hash] !== undefined, 'P6', `${hash} is sent and not journaled`)
  return world.outbox.includes(hash) ? world : { ...world, outbox: add(world.outbox, hash) }
}

/**
 * P4: a transaction is re-queued only if its nonce was permanently used by a transaction that is neither of
 * the slot nor requested.
 */
function queueAgain(scope: Scope, world: World, nonce: number, claim: string): World {
  const fate = world.fates[claim]
  const isDoubtful = world.doubtful.includes(claim)
  must(fate === 'open', 'P5', `${claim} is queued again after it ended as ${fate}`)
  // The bytes of outside code cannot be signed by the lane; the owner is notified that the nonce was taken.
  if (isOutsideClaim(claim)) return { ...world, fates: { ...world.fates, [claim]: 'displaced' } }
  must(!world.cancelled.includes(claim), 'P4', `${claim} is queued again after its cancel was taken`)
  must(claim !== 'A' || !world.replaced, 'P4', 'a replaced transaction is queued again')
  must(!world.queue.includes(claim), 'P1', `${claim} is queued twice`)
  const use = world.chain[nonce]
  const attempt = world.slots[nonce]?.attempts.find(({ hash }) => hash === use?.hash)
  const byNoop = attempt !== undefined && attempt.claim === undefined
  if (!isDoubtful && mayLand(world, nonce, claim)) {
    must(use !== undefined && use.depth >= scope.lossDepth, 'P4', `${claim} is queued again without proof`)
    must(claimOf(use?.hash ?? '0x') !== claim, 'P4', `${claim} is queued again, and it has executed`)
    must(!byNoop, 'P4', `${claim} is queued again after a no-op of its own nonce`)
  }
  return { ...world, queue: add(world.queue, claim) }
}

/** True if bytes of the claim are journaled at the nonce, and not known to be nowhere. */
function mayLand(world: World, nonce: number, claim: string): boolean {
  return Object.entries(world.bytes).some(
    ([hash, bits]) =>
      nonceOf(hash as Hash) === nonce &&
      claimOf(hash as Hash) === claim &&
      (bits & (DEAD | UNCOMMITTED)) === 0,
  )
}

function end(world: World, nonce: number, claim: string, as: string): World {
  const fate = world.fates[claim]
  if (isReportedAlready(world, claim)) return world
  must(fate === 'open', 'P5', `${claim} ends as ${as} after it was ${fate}`)
  must(as !== 'cancelled' || world.cancelled.includes(claim), 'P8', `${claim} is cancelled without a request`)
  must(as !== 'superseded' || (claim === 'A' && world.replaced), 'P8', `${claim} is superseded by nothing`)
  must(as !== 'tooLate' || claim === 'R', 'P8', `${claim} is too late for nothing`)
  must(
    as !== 'voided' || !world.cancelled.includes(claim),
    'P8',
    `${claim} at ${nonce} was cancelled, and is voided`,
  )
  const replaced = claim === 'R' && as === 'withdrawn' ? false : world.replaced
  return { ...world, replaced, fates: { ...world.fates, [claim]: as } }
}

/** After a correction, no second outcome is reported for a transaction that has ended. */
const isReportedAlready = (world: World, claim: string): boolean =>
  world.doubtful.includes(claim) && world.fates[claim] !== 'open'

function landed(scope: Scope, world: World, nonce: number, claim: string): World {
  const fate = world.fates[claim]
  if (isReportedAlready(world, claim)) return world
  must(fate === 'open', 'P5', `${claim} lands after it was ${fate}`)
  const use = world.chain[nonce]
  const there = use !== undefined && claimOf(use.hash) === claim && use.depth >= scope.lossDepth
  must(
    there || world.doubtful.includes(claim),
    'P4',
    `${claim} is reported as landed, and it has not landed permanently`,
  )
  return { ...world, fates: { ...world.fates, [claim]: 'landed' } }
}

/**
 * Row 32, beyond the promises: nothing more is reserved. A landed transaction is open again. Another
 * transaction with bytes at the nonce may now execute although it had ended, or execute a second time.
 */
function hold(scope: Scope, world: World, nonce: number): World {
  const deep = world.left.deepReorg < (scope.adversities.deepReorg ?? 0)
  must(deep, 'P4', 'a reorg shallower than lossDepth took back a verdict')
  const slot = world.slots[nonce]
  if (slot?.state !== 'live') throw new Violation('P2', `${nonce} is free after a deep reorg`)
  const [reopened] = slot.claims
  must(reopened !== undefined || slot.end === 'void', 'P5', `${nonce} is not voided after a deep reorg`)
  const others = slot.attempts.flatMap(({ claim }) => (claim === reopened ? [] : (claim ?? [])))
  const doubtful = others.reduce(add<string>, world.doubtful)
  if (reopened === undefined) return { ...world, held: true, doubtful }
  const fates = { ...world.fates, [reopened]: 'open' }
  const cancelled = without(world.cancelled, reopened)
  return { ...world, held: true, doubtful, fates, cancelled, replaced: world.replaced && reopened !== 'A' }
}
