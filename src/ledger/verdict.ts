import type { EndAs, SlotAction, SlotEvent } from './event.js'
import { ignored, type Transition } from './result.js'
import type { End, Used } from './slot.js'
import { slotWith } from './slotWith.js'

/** Rows 29 to 31: the verdict, once the block that used the nonce is too deep for a reorg. */
export function settle(slot: Used, event: SlotEvent): Transition {
  const settled: Used = slotWith(slot, { settled: true })
  switch (slot.by.kind) {
    case 'unproven':
      return ignored(slot, event)
    case 'claim':
      return { row: 29, slot: settled, actions: landed(slot, slot.by.claim, slot.by.hash) }
    case 'noop': {
      const told: SlotAction[] = slot.end === 'void' ? [{ do: 'emit', event: 'gapFilled' }] : []
      // A claim moves to another nonce only if another transaction took this one. After a no-op of ours the
      // claim ends.
      return { row: 30, slot: settled, actions: [...told, ...ended(slot, slot.end ?? 'void')] }
    }
    case 'other':
      return { row: 31, slot: settled, actions: ended(slot, slot.end) }
    default: {
      const impossible: never = slot.by
      throw new Error(`unknown use ${JSON.stringify(impossible)}`)
    }
  }
}

/**
 * Row 27: an operator who checked elsewhere (an explorer, the recipient) reports the fate of a claim.
 * `notExecuted` does not concern the other claims that were bound here: the slot stays unproven until one has
 * executed or none is left.
 */
export function resolve(slot: Used, event: Extract<SlotEvent, { type: 'resolve' }>): Transition {
  const { claim, fate } = event
  const index = slot.claims.indexOf(claim)
  if (slot.by.kind !== 'unproven' || index < 0) return ignored(slot, event)
  if (fate === 'executed') {
    const { slot: settled, actions } = settle(
      slotWith(slot, { by: { kind: 'claim', claim, hash: undefined } }),
      event,
    )
    return { row: 27, slot: settled, actions }
  }
  if (slot.claims.length === 1) {
    const { slot: settled, actions } = settle(
      slotWith(slot, { by: { kind: 'other', hash: undefined } }),
      event,
    )
    return { row: 27, slot: settled, actions }
  }
  const claims = slot.claims.filter((other) => other !== claim)
  if (index < slot.claims.length - 1) {
    return { row: 27, slot: slotWith(slot, { claims }), actions: [{ do: 'end', claim, as: 'superseded' }] }
  }
  // The replaced transaction is not wanted either, although no caller cancelled it: if it did not execute, it
  // is voided.
  const as = slot.end === undefined ? 'tooLate' : endAs[slot.end]
  return { row: 27, slot: slotWith(slot, { claims, end: 'void' }), actions: [{ do: 'end', claim, as }] }
}

/** Row 29. A claim that was asked to end and landed nevertheless has executed, and is reported as landed. */
function landed(slot: Used, claim: string, hash: Used['attempts'][number]['hash'] | undefined): SlotAction[] {
  const index = slot.claims.indexOf(claim)
  return slot.claims.map((other, i): SlotAction => {
    if (i === index) return { do: 'landed', claim, hash }
    return { do: 'end', claim: other, as: i < index ? 'superseded' : 'tooLate' }
  })
}

/** Rows 30 and 31: no claim of this slot executed. */
function ended(slot: Used, end: End | undefined): SlotAction[] {
  const last = slot.claims[slot.claims.length - 1]
  const earlier = slot.claims
    .slice(0, -1)
    .map((claim): SlotAction => ({ do: 'end', claim, as: 'superseded' }))
  if (last === undefined) return earlier
  return [
    ...earlier,
    end === undefined ? { do: 'queueAgain', claim: last } : { do: 'end', claim: last, as: endAs[end] },
  ]
}

const endAs: Readonly<Record<End, EndAs>> = { cancel: 'cancelled', void: 'voided' }
