import type { Hash } from 'viem'
import type { SlotAction, SlotEvent } from '../../src/ledger/event.js'
import { newestAttempt } from '../../src/ledger/slot.js'
import type { transition } from '../../src/ledger/transition.js'
import { add, claimOf, type Scope, type World } from './world.js'

export type Machine = typeof transition

/** A promise that was broken: which, and how. */
export class Violation extends Error {
  constructor(
    readonly promise: string,
    text: string,
  ) {
    super(`${promise}: ${text}`)
  }
}

export function must(holds: boolean, promise: string, text: string): void {
  if (!holds) throw new Violation(promise, text)
}

export type Taken = { readonly world: World; readonly row: number }

/** Observations that may be made twice, and must not make anything happen twice. */
const REPEATED: ReadonlySet<SlotEvent['type']> = new Set([
  'sealed',
  'evidence',
  'left',
  'lossDepth',
  'cancel',
  'withdraw',
])

/** The shell: takes an event through the table and carries out what comes of it. */
export function take(scope: Scope, machine: Machine, world: World, nonce: number, event: SlotEvent): Taken {
  const before = world.slots[nonce]
  const { slot, actions, row } = machine(nonce, before, event)
  if (row === 0 && (slot === before || before === undefined)) return { world, row }
  if (REPEATED.has(event.type)) {
    const again = machine(nonce, slot, event).actions.filter((action) => FINAL.has(action.do))
    must(
      again.length === 0,
      'P8',
      `${event.type} seen twice makes ${again.map((action) => action.do).join()}`,
    )
  }
  if (before?.state === 'live' && before.displaced && before.end === undefined && event.type === 'stuck') {
    const waits = actions.every((action) => action.do !== 'bump' && action.do !== 'noop')
    must(waits, 'row 17', 'a displaced nonce is bumped or voided unasked')
  }
  let next: World = { ...world, slots: world.slots.map((other, index) => (index === nonce ? slot : other)) }
  if (row === 14) next = { ...next, bytes: withDead(next, nonce) }
  for (const action of actions) next = perform(scope, next, nonce, action, event)
  return { world: next, row }
}

const FINAL: ReadonlySet<SlotAction['do']> = new Set(['end', 'landed', 'queueAgain', 'hold'])

/** What row 14 freed is known to be nowhere, if the machine kept to it. */
function withDead(world: World, nonce: number): World['bytes'] {
  const known = world.slots[nonce]?.attempts ?? []
  return Object.fromEntries(
    Object.entries(world.bytes).map(([hash, bits]) => [
      hash,
      known.some((attempt) => attempt.hash === hash) && (bits & 1) === 0 ? bits | 4 : bits,
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
      return queueAgain(world, nonce, action.claim)
    case 'end':
      return end(world, nonce, action.claim, action.as)
    case 'landed':
      return landed(scope, world, nonce, action.claim)
    case 'hold':
      must(false, 'P4', 'a reorg shallower than lossDepth took back a verdict')
      return world
    default:
      return world
  }
}

function signing(world: World, nonce: number, claim: string | undefined, token: number): World {
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
    `${claim} is bumped after its end was asked for`,
  )
  must(!slot.displaced || event.type === 'speedUp', 'row 17', 'a displaced nonce is bumped unasked')
  const made = slot.attempts.filter((attempt) => attempt.claim === claim).length
  return made >= scope.attemptsMax ? world : signing(world, nonce, claim, token)
}

function post(world: World, hash: Hash): World {
  const claim = claimOf(hash)
  const fate = claim === undefined ? 'open' : world.fates[claim]
  must(fate === 'open' || fate === 'landed', 'P5', `bytes of ${claim} are sent after it ended as ${fate}`)
  return { ...world, outbox: add(world.outbox, hash) }
}

function queueAgain(world: World, nonce: number, claim: string): World {
  const use = world.chain[nonce]?.hash
  const byNoop = world.slots[nonce]?.attempts.some(
    (attempt) => attempt.hash === use && attempt.claim === undefined,
  )
  must(byNoop !== true, 'P4', `${claim} is queued again after a no-op of its own nonce`)
  must(
    world.fates[claim] === 'open',
    'P5',
    `${claim} is queued again after it ended as ${world.fates[claim]}`,
  )
  must(!world.cancelled.includes(claim), 'P4', `${claim} is queued again after its cancel was taken`)
  must(claim !== 'A' || !world.replaced, 'P4', 'a replaced transaction is queued again')
  must(!world.queue.includes(claim), 'P1', `${claim} is queued twice`)
  return { ...world, queue: add(world.queue, claim) }
}

function end(world: World, nonce: number, claim: string, as: string): World {
  must(world.fates[claim] === 'open', 'P5', `${claim} ends as ${as} after it was ${world.fates[claim]}`)
  must(
    as !== 'cancelled' || world.cancelled.includes(claim),
    'P8',
    `${claim} is cancelled, which nobody asked for`,
  )
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

function landed(scope: Scope, world: World, nonce: number, claim: string): World {
  must(world.fates[claim] === 'open', 'P5', `${claim} lands after it was ${world.fates[claim]}`)
  const use = world.chain[nonce]
  const there = use !== undefined && claimOf(use.hash) === claim && use.depth >= scope.lossDepth
  must(there, 'P4', `${claim} is told to have landed, and it has not for good`)
  return { ...world, fates: { ...world.fates, [claim]: 'landed' } }
}
