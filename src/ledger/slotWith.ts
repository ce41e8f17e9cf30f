import { type Attempt, type Live, NOTHING, type Reserved, type Used } from './slot.js'

// Do not use object spread for slots. V8 gives each spread site its own hidden class. The class dies with the
// last object that has it, and takes the compiled code of every function that reads slots with it. The
// helpers below give all slots of a state one stable shape: the fields stand in the same order as at the site
// that first creates such a slot.

type Changing = Reserved | Live | Used

/** A live slot with these fields, and defaults for all others. */
export function live(
  nonce: number,
  token: number,
  known: Partial<Pick<Live, 'attempts' | 'claims' | 'end' | 'settledBefore' | 'committing'>> = {},
): Live {
  return {
    state: 'live',
    nonce,
    attempts: known.attempts ?? NOTHING,
    claims: known.claims ?? NOTHING,
    end: known.end,
    token,
    preconfirmed: undefined,
    displaced: false,
    settledBefore: known.settledBefore ?? false,
    refusals: 0,
    replacementRejections: 0,
    resentSinceSigned: false,
    committing: known.committing ?? 0,
  }
}

/** A copy of the slot with some fields changed. The slot stays in its state. */
export function slotWith<slot extends Changing>(slot: slot, change: Partial<Omit<slot, 'state'>>): slot {
  return Object.assign(copyOf(slot), change) as slot
}

export function attemptWith(attempt: Attempt, change: Partial<Attempt>): Attempt {
  const { hash, raw, fees, gas, claim, epoch, sends, accepted, madeAt } = attempt
  const copy =
    madeAt === undefined
      ? { hash, raw, fees, gas, claim, epoch, sends, accepted }
      : { hash, raw, fees, gas, claim, epoch, sends, accepted, madeAt }
  return Object.assign(attempt.private ? { ...copy, private: true as const } : copy, change)
}

function copyOf(slot: Changing): Changing {
  switch (slot.state) {
    case 'reserved':
      return copyReserved(slot)
    case 'live':
      return copyLive(slot)
    case 'used':
      return copyUsed(slot)
    default:
      return slot satisfies never
  }
}

function copyReserved({ state, nonce, attempts, claim, token, committing }: Reserved): Reserved {
  return { state, nonce, attempts, claim, token, committing }
}

function copyLive(slot: Live): Live {
  const { state, nonce, attempts, claims, end, token, preconfirmed } = slot
  const { displaced, settledBefore, refusals, replacementRejections, resentSinceSigned, committing } = slot
  return {
    state,
    nonce,
    attempts,
    claims,
    end,
    token,
    preconfirmed,
    displaced,
    settledBefore,
    refusals,
    replacementRejections,
    resentSinceSigned,
    committing,
  }
}

function copyUsed(slot: Used): Used {
  const { state, nonce, attempts, claims, end, by, at, settledBefore, settled, committing } = slot
  return { state, nonce, attempts, claims, end, by, at, settledBefore, settled, committing }
}
