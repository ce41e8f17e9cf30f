/** A broken promise, and how it was broken. */
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
