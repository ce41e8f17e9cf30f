import type { Lane } from '../../allocator/lane.js'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { Limits } from '../../types/index.js'
import type { Emitter } from '../emitter.js'

type GapFillerParts = {
  readonly lane: Lane
  readonly clock: Clock
  readonly limits: Pick<Limits, 'gapFillAfterMs' | 'fillsMax'>
  readonly events: Emitter
  readonly hasSigner: () => boolean
  /** A transaction is ready that will take the lowest hole. */
  readonly fillable: () => boolean
}

/** Fills gaps that no transaction takes (row 2). */
export type GapFiller = {
  /** There may be a hole below the cursor. */
  watch(): void
  stop(): void
}

export function createGapFiller(parts: GapFillerParts): GapFiller {
  const { lane, clock, limits, events, hasSigner, fillable } = parts
  const { book } = lane
  let timer: CancelTimer | undefined
  let sinceMs: number | undefined

  function check(): void {
    timer = undefined
    const hole = book.lowestHole()
    if (hole === undefined) {
      sinceMs = undefined
      return
    }
    const isWanted = fillable()
    const due = clock.now() - (sinceMs ?? clock.now()) >= limits.gapFillAfterMs
    if (due && hasSigner() && !isWanted) fill()
    if (book.lowestHole() !== undefined) plan()
    else sinceMs = undefined
  }

  /** Row 2, lowest first. Without a signer a gap can only be reported. */
  function fill(): void {
    for (let filled = 0; filled < limits.fillsMax; filled++) {
      const nonce = book.lowestHole()
      if (nonce === undefined) return
      lane.apply(nonce, {
        type: 'gapTimer',
        boundAbove: nonce < book.cursor,
        waiting: false,
        token: lane.token(),
      })
      if (book.lowestHole() === nonce) return
      events.emit('gap', { nonce })
    }
  }

  function plan(): void {
    timer ??= clock.setTimer(check, limits.gapFillAfterMs)
  }

  return {
    watch() {
      if (book.lowestHole() === undefined) return
      sinceMs ??= clock.now()
      plan()
    },
    stop: () => timer?.(),
  }
}
