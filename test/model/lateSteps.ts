import type { Hash } from 'viem'
import type { SlotEvent } from '../../src/ledger/event.js'
import type { Slot } from '../../src/ledger/slot.js'
import type { Emit } from './laneSteps.js'
import { type Machine, take } from './shell.js'
import { cursorOf, isFree, type Scope, type World } from './world.js'

/**
 * Events that are reported in every state although they bring no news: late, repeated, or about things that
 * never existed. The shipped ledger ignores them, so these steps change nothing; a ledger that believed them
 * would go wrong.
 */
export function createLateSteps(scope: Scope, machine: Machine) {
  // A machine depends only on its slot: an event that it ignores for a slot, it ignores in every world.
  const unmoved = new WeakSet<Slot>()

  function report(world: World, nonce: number, events: readonly SlotEvent[], emit: Emit): boolean {
    let moved = false
    for (const event of events) {
      const { world: next } = take(scope, machine, world, nonce, event)
      if (next === world) continue
      moved = true
      emit(`${event.type} at ${nonce}, late`, next)
    }
    return moved
  }

  return (world: World, emit: Emit): void => {
    const cursor = cursorOf(world)
    for (const [nonce, slot] of world.slots.entries()) {
      report(world, nonce, eventsOfWorld(world, nonce, cursor, scope.lossDepth), emit)
      if (slot === undefined) report(world, nonce, [...EVERYWHERE, HORIZON], emit)
      else if (!unmoved.has(slot) && !report(world, nonce, eventsOfSlot(slot), emit)) unmoved.add(slot)
    }
  }
}

function eventsOfWorld(world: World, nonce: number, cursor: number, lossDepth: number): readonly SlotEvent[] {
  if (nonce === cursor) return [NOTHING_ABOVE]
  const events = isFree(world, nonce) ? [] : [GAP]
  if (world.chain[nonce]?.depth === lossDepth) events.push(HORIZON)
  for (const use of world.stale) {
    const reported = world.chain[nonce]?.block !== use.block && !believed(world, nonce, use.block)
    if (reported) events.push({ type: 'left', block: { number: 0, hash: use.block }, token: 2 })
  }
  return events
}

function eventsOfSlot(slot: Slot): readonly SlotEvent[] {
  const events = [...EVERYWHERE]
  if (slot.state !== 'used' || slot.at !== undefined) events.push(HORIZON)
  if (slot.state !== 'outside') events.push(...OF_OUTSIDE)
  if (slot.state === 'used' || slot.state === 'final') events.push(...OF_UNUSED)
  // The answer to a commit comes once. During another pending commit it would be taken for that one's answer.
  if ('committing' in slot && slot.committing > 0) return events
  return [...events, ...slot.attempts.map((attempt) => ({ type: 'journaled', token: 0, attempt }) as const)]
}

/** True if the walk is yet to report it, or reports it at this moment. */
function believed(world: World, nonce: number, block: Hash): boolean {
  const slot = world.slots[nonce]
  return slot?.state === 'used' && slot.at?.hash === block
}

const NEVER = { number: 0, hash: '0xnever' } as const

/** For a nonce that the operator settled, this is reported only if the chain agrees. */
const HORIZON: SlotEvent = { type: 'horizon' }

const EVERYWHERE: readonly SlotEvent[] = [
  { type: 'left', block: NEVER, token: 2 },
  { type: 'notPreconfirmed', blockNumber: 9 },
  { type: 'preconfirmed', hash: '0xnever', blockNumber: 9 },
  { type: 'outcome', hash: '0xnever', outcome: 'intrinsic', epoch: 1 },
  { type: 'commitUnknown', token: 0 },
  { type: 'committing', token: 0, claim: 'A' },
  { type: 'withdraw', claim: '?', why: 'again' },
  { type: 'resolve', claim: '?', fate: 'notExecuted' },
]

const NOTHING_ABOVE: SlotEvent = { type: 'gapTimer', boundAbove: false, waiting: false, token: 2 }
const GAP: SlotEvent = { type: 'gapTimer', boundAbove: true, waiting: false, token: 2 }

const OF_OUTSIDE: readonly SlotEvent[] = [{ type: 'released' }, { type: 'ttl', signer: true, token: 2 }]

/** Reported of nonces that are used by now. */
const OF_UNUSED: readonly SlotEvent[] = [
  { type: 'stuck', head: true, atCeiling: true, priced: false, fillable: true, signer: true, token: 2 },
  { type: 'withdraw', claim: 'A', why: 'again' },
  { type: 'withdraw', claim: 'B', why: 'failed' },
  { type: 'speedUp', named: true, token: 2 },
  { type: 'seeded' },
]
