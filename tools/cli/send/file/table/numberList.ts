const CHUNK = 65_536

/** A list of whole numbers below 2^32 that grows without copies. */
export class NumberList {
  readonly #chunks: Uint32Array[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  push(number: number): void {
    const at = this.#length++ % CHUNK
    if (at === 0) this.#chunks.push(new Uint32Array(CHUNK))
    const last = this.#chunks[this.#chunks.length - 1] as Uint32Array
    last[at] = number
  }

  at(index: number): number {
    return this.#chunks[Math.floor(index / CHUNK)]?.[index % CHUNK] ?? 0
  }
}
