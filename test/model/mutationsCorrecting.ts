import type { Slot } from '../../src/ledger/slot.js'
import { transition } from '../../src/ledger/transition.js'
import { after, type Mutation } from './broken.js'

const ignoring = (slot: Slot) => ({ row: 0, slot, actions: [] })
const isSettled = (slot: Slot): boolean => slot.state === 'used' && slot.settled

/**
 * Conclusions from a count, a witness or an operator's statement that turns out to be wrong are taken back
 * (rows 24, 26, 27, 34, 35).
 */
export const correcting: readonly Mutation[] = [
  {
    name: 'an own attempt in a walked block corrects no verdict',
    scope: 'misled',
    breaks: 'P4',
    machine: after('sealed', (slot, _, taken) => (isSettled(slot) ? ignoring(slot) : taken)),
  },
  {
    name: 'a corrected verdict leaves its claim bound to another nonce',
    scope: 'misled',
    breaks: 'P4',
    machine: after('sealed', (_, __, taken) => ({
      ...taken,
      actions: taken.actions.filter((action) => action.do !== 'reclaim'),
    })),
  },
  {
    name: 'a transaction that lands after its verdict was taken back stays bound to another nonce',
    scope: 'beyond',
    breaks: 'P4',
    machine: after('sealed', (slot, _, taken) =>
      slot.state === 'live'
        ? { ...taken, actions: taken.actions.filter((action) => action.do !== 'reclaim') }
        : taken,
    ),
  },
  {
    name: 'a corrected verdict is given a second time, though an ended transaction stays ended',
    scope: 'misled',
    breaks: 'P8',
    machine: after('sealed', (slot, _, taken) =>
      isSettled(slot) && taken.row === 24 && taken.slot.state === 'used'
        ? { ...taken, slot: { ...taken.slot, settled: false } }
        : taken,
    ),
  },
  {
    name: 'a count that passes a nonce forgets the requested end',
    scope: 'words',
    breaks: 'P8',
    machine: after('passed', (_, __, taken) =>
      taken.slot.state === 'used' ? { ...taken, slot: { ...taken.slot, end: undefined } } : taken,
    ),
  },
  {
    name: 'the word of an operator outlives the count that it rests on',
    scope: 'misled',
    breaks: 'end',
    machine: after('refuted', (slot, _, taken) => (isSettled(slot) ? ignoring(slot) : taken)),
  },
  {
    name: 'a refuted word frees a nonce with journaled bytes',
    scope: 'misled',
    breaks: 'P2',
    machine: after('refuted', (slot, _, taken) =>
      isSettled(slot)
        ? { ...taken, slot: { state: 'hole', nonce: slot.nonce, attempts: slot.attempts }, actions: [] }
        : taken,
    ),
  },
  {
    name: 'a body without the witness forgets the requested end',
    scope: 'lies',
    breaks: 'P4',
    machine: after('unwitnessed', (_, __, taken) =>
      taken.slot.state === 'live' ? { ...taken, slot: { ...taken.slot, end: undefined } } : taken,
    ),
  },
  {
    name: 'a body without the witness forgets the sent bytes',
    scope: 'lies',
    breaks: 'P2',
    machine: after('unwitnessed', (_, __, taken) =>
      taken.row === 34 ? { ...taken, slot: { ...taken.slot, attempts: [] } } : taken,
    ),
  },
  {
    name: 'a transaction executed elsewhere frees a nonce with journaled bytes',
    scope: 'misled',
    breaks: 'P2',
    machine: after('executedElsewhere', (slot, _, taken) =>
      taken.row === 35 && slot.state === 'live'
        ? { ...taken, slot: { state: 'hole', nonce: slot.nonce, attempts: slot.attempts }, actions: [] }
        : taken,
    ),
  },
  {
    name: 'a transaction executed elsewhere stays bound to a nonce that is used and has no verdict',
    scope: 'misled',
    breaks: 'P1',
    machine: after('executedElsewhere', (slot, _, taken) => (slot.state === 'used' ? ignoring(slot) : taken)),
  },
  {
    name: 'a transaction executed elsewhere and cancelled here is wanted again',
    scope: 'misled',
    breaks: 'P4',
    machine: (nonce, slot, event) =>
      event.type === 'executedElsewhere' && slot?.state === 'live'
        ? { row: 35, slot: { ...slot, end: undefined }, actions: [] }
        : transition(nonce, slot, event),
  },
]

/** Conclusions from an endpoint that erred. */
export const lying: readonly Mutation[] = [
  {
    name: 'a refuted count frees a nonce with journaled bytes',
    scope: 'lies',
    breaks: 'P1',
    machine: after('refuted', (slot, _, taken) =>
      taken.row === 27
        ? { ...taken, slot: { state: 'hole', nonce: slot.nonce, attempts: slot.attempts }, actions: [] }
        : taken,
    ),
  },
  {
    name: 'a body without the witness queues the transaction again',
    scope: 'lies',
    breaks: 'P4',
    machine: after('unwitnessed', (slot, _, taken) => {
      const claim = slot.state === 'used' ? slot.claims.at(-1) : undefined
      return taken.row === 34 && claim !== undefined
        ? { ...taken, actions: [{ do: 'queueAgain', claim }] }
        : taken
    }),
  },
]
