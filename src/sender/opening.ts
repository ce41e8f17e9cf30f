/** Something that is opened by the first call that needs it. */
export type Opening<T> = {
  /** Opens it once, for all who ask. What failed is not kept: the next call tries anew. */
  open(): Promise<T>
  /** What is open, or about to be. */
  readonly begun: Promise<T> | undefined
}

export function createOpening<T>(openIt: () => Promise<T>): Opening<T> {
  let begun: Promise<T> | undefined
  return {
    open() {
      begun ??= openIt().catch((error: unknown) => {
        begun = undefined
        throw error
      })
      return begun
    },
    get begun() {
      return begun
    },
  }
}
