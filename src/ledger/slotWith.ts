import type { Attempt, Live, Reserved, Used } from './slot.js'

// Not spread: on V8 an object that is spread gets a shape of its own at each place where that is done, which dies with
// the last object that has it, and takes along the compiled code of whoever looks at slots. Here is one for each state:
// the fields stand in the order in which they do where such a slot is first made.

type Changing = Reserved | Live | Used

/** The slot with something of it changed; it stays in its state. */
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
  const { displaced, wasSettled, refusals, underbids, nudged, committing } = slot
  return {
    state,
    nonce,
    attempts,
    claims,
    end,
    token,
    preconfirmed,
    displaced,
    wasSettled,
    refusals,
    underbids,
    nudged,
    committing,
  }
}

function copyUsed(slot: Used): Used {
  const { state, nonce, attempts, claims, end, by, at, wasSettled, settled, committing } = slot
  return { state, nonce, attempts, claims, end, by, at, wasSettled, settled, committing }
}
