/** The sequence numbers of a lane: the order in which its transactions arrived. */
export type SequenceNumbers = {
  /** Returns the number for one more transaction. */
  next(): number
  /** A transaction with this number is known: later ones get higher numbers. */
  seen(known: number): void
}

export function createSequenceNumbers(): SequenceNumbers {
  let highest = 0
  return {
    next: () => ++highest,
    seen(known) {
      highest = Math.max(highest, known)
    },
  }
}
