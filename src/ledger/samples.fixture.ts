import type { Hash } from 'viem'
import type { SlotEvent, Transition } from './event.js'
import type { Attempt, BlockRef, Live, Reserved, Slot, Used, UsedBy } from './slot.js'
import { live } from './slotWith.js'
import { transition } from './transition.js'

/** Slots, attempts and events for the tests of the ledger. */
export const hash = (name: string): Hash => `0x${name}`
export const block = (number: number, fork = ''): BlockRef => ({ number, hash: hash(`b${number}${fork}`) })

export function attempt(claim: string | undefined, name: string, over: Partial<Attempt> = {}): Attempt {
  return {
    hash: hash(name),
    raw: hash(`raw${name}`),
    fees: { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n },
    gas: 21_000n,
    claim,
    epoch: 1,
    sends: 1,
    accepted: false,
    ...over,
  }
}

export const a1 = attempt('a', 'a1')
export const a2 = attempt('a', 'a2')
export const b1 = attempt('b', 'b1')
export const noop = attempt(undefined, 'n1')

export const reserved = (over: Partial<Reserved> = {}): Reserved => ({
  state: 'reserved',
  nonce: 7,
  attempts: [],
  claim: 'a',
  token: 1,
  committing: 0,
  ...over,
})

export const liveSlot = (over: Partial<Live> = {}): Live => ({
  ...live(7, 1),
  claims: ['a'],
  attempts: [a1],
  ...over,
})

export const usedSlot = (by: UsedBy, over: Partial<Used> = {}): Used => ({
  state: 'used',
  nonce: 7,
  attempts: [a1],
  claims: ['a'],
  end: undefined,
  by,
  at: block(10),
  settledBefore: false,
  settled: false,
  committing: 0,
  ...over,
})

export const byA: UsedBy = { kind: 'claim', claim: 'a', hash: a1.hash }
export const byNoop: UsedBy = { kind: 'noop', hash: noop.hash }
export const byOther: UsedBy = { kind: 'other', hash: hash('f') }
export const unproven: UsedBy = { kind: 'unproven' }

export const stuck = (over: Partial<Extract<SlotEvent, { type: 'stuck' }>> = {}): SlotEvent => ({
  type: 'stuck',
  head: true,
  atCeiling: false,
  priced: true,
  fillable: true,
  signer: true,
  token: 9,
  ...over,
})

export const outcome = (
  name: Hash,
  said: Extract<SlotEvent, { type: 'outcome' }>['outcome'],
  epoch = 1,
): Extract<SlotEvent, { type: 'outcome' }> => ({ type: 'outcome', hash: name, outcome: said, epoch })

/** Applies one event to nonce 7. */
export const on = (slot: Slot | undefined, event: SlotEvent): Transition => transition(7, slot, event)
