/**
 * Positions of texts by the texts. A map would keep 200,000 texts in memory; this table reads a text again to compare
 * it.
 */
export class Positions {
  /** A position plus 1, or 0. */
  readonly #slots: Int32Array
  readonly #textAt: (index: number) => string

  /** Makes room for at most `size` texts. */
  constructor(size: number, textAt: (index: number) => string) {
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * size + 1)))
    this.#textAt = textAt
  }

  find(text: string): number | undefined {
    const found = this.#slots[this.#slotOf(text)] as number
    return found === 0 ? undefined : found - 1
  }

  /** Puts the text in the place of an equal one. Returns the index of that one. */
  put(text: string, index: number): number | undefined {
    const slot = this.#slotOf(text)
    const before = this.#slots[slot] as number
    this.#slots[slot] = index + 1
    return before === 0 ? undefined : before - 1
  }

  #slotOf(text: string): number {
    const mask = this.#slots.length - 1
    for (let slot = hashOf(text) & mask; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot] as number
      if (found === 0 || this.#textAt(found - 1) === text) return slot
    }
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash ^ (hash >>> 15)
}
