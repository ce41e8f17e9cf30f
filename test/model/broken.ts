import type { SlotAction, SlotEvent, Transition } from '../../src/ledger/event.js'
import { lastClaim, type Slot, type Used } from '../../src/ledger/slot.js'
import { transition } from '../../src/ledger/transition.js'
import type { SCOPES } from './scopes.js'
import type { Machine } from './shell.js'

/**
 * A state machine broken on purpose. The search of the scope has to detect it as a violation of this
 * promise.
 */
export type Mutation = {
  readonly name: string
  readonly scope: keyof typeof SCOPES
  readonly breaks: string
  readonly machine: Machine
}

type Change = (slot: Slot, event: SlotEvent, taken: Transition, nonce: number) => Transition

/** The shipped machine, with a changed result of one kind of event. */
export function after(type: SlotEvent['type'], change: Change): Machine {
  return (nonce, slot, event) => {
    const taken = transition(nonce, slot, event)
    return event.type === type && slot !== undefined ? change(slot, event, taken, nonce) : taken
  }
}

/** The shipped machine, which sees a changed slot for one kind of event. */
export function believing(type: SlotEvent['type'], change: (slot: Slot, event: SlotEvent) => Slot): Machine {
  return (nonce, slot, event) =>
    transition(nonce, slot !== undefined && event.type === type ? change(slot, event) : slot, event)
}

/** Takes the claim from its nonce and queues it again, as if another transaction had used the nonce. */
export function rebound(slot: Slot, taken: Transition): Transition {
  const claim = lastClaim(slot)
  if (slot.state !== 'live' || claim === undefined) return taken
  const by: Used['by'] = { kind: 'other', hash: undefined }
  const { nonce, attempts, claims, end, committing, settledBefore } = slot
  const at = undefined
  const used: Used = {
    state: 'used',
    nonce,
    attempts,
    claims,
    end,
    by,
    at,
    settledBefore,
    committing,
    settled: true,
  }
  return { row: taken.row || 31, slot: used, actions: [{ do: 'queueAgain', claim }] }
}

/** Gives the verdict at once. */
export function settled(_: Slot, __: SlotEvent, taken: Transition, nonce: number): Transition {
  const verdict = transition(nonce, taken.slot, { type: 'lossDepth' })
  return verdict.row === 0 ? taken : { ...verdict, actions: [...taken.actions, ...verdict.actions] }
}

export function replacing(taken: Transition, change: (action: SlotAction) => SlotAction): Transition {
  return { ...taken, actions: taken.actions.map(change) }
}

export const queued = (action: SlotAction, which: (as: string) => boolean): SlotAction =>
  action.do === 'end' && which(action.as) ? { do: 'queueAgain', claim: action.claim } : action

/** Applies row 14 in a wrong situation: the machine sees the slot in a better state. */
export const lenient = (
  change: (slot: Extract<Slot, { state: 'live' }>, event: SlotEvent) => Slot,
): Machine =>
  believing('outcome', (slot, event) =>
    slot.state === 'live' && event.type === 'outcome' && event.outcome === 'intrinsic'
      ? change(slot, event)
      : slot,
  )

export const keepingAttempts =
  (machine: Machine): Machine =>
  (nonce, slot, event) => {
    const taken = machine(nonce, slot, event)
    if (taken.row !== 14 || slot === undefined) return taken
    return { ...taken, slot: { ...taken.slot, attempts: slot.attempts } }
  }
