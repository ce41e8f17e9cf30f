/**
 * A set of states, each a fixed number of 32-bit words, numbered in insertion order. States are stored whole
 * and compared word by word, so no two are ever confused; a hash only selects the place in the table. A
 * state takes some 40 bytes outside the garbage-collected heap.
 */
export type StateSet = {
  /** The number of the state: `size` before the call if it is new. */
  add(words: Uint32Array): number
  read(id: number, into: Uint32Array): void
  readonly size: number
}

const CHUNK_BITS = 16
const CHUNK = 1 << CHUNK_BITS
/** Stored ids are one more than the number, so that a fresh table is empty. */
const EMPTY = 0

export function createStateSet(width: number): StateSet {
  const chunks: Uint32Array[] = []
  let table = new Uint32Array(1 << 12)
  let size = 0

  const chunkOf = (id: number): Uint32Array => chunks[id >>> CHUNK_BITS] ?? new Uint32Array(0)
  const offsetOf = (id: number): number => (id & (CHUNK - 1)) * width

  function same(id: number, words: Uint32Array): boolean {
    const chunk = chunkOf(id)
    const offset = offsetOf(id)
    for (let i = 0; i < width; i++) if (chunk[offset + i] !== words[i]) return false
    return true
  }

  /** The state's place in the table, or the empty place for it. */
  function placeOf(words: Uint32Array): number {
    const mask = table.length - 1
    let place = hashOf(words, 0, width) & mask
    for (let entry = table[place]; entry !== undefined && entry !== EMPTY; entry = table[place]) {
      if (same(entry - 1, words)) return place
      place = (place + 1) & mask
    }
    return place
  }

  function grow(): void {
    const next = new Uint32Array(table.length * 2)
    const mask = next.length - 1
    for (let id = 0; id < size; id++) {
      let place = hashOf(chunkOf(id), offsetOf(id), width) & mask
      while (next[place] !== EMPTY) place = (place + 1) & mask
      next[place] = id + 1
    }
    table = next
  }

  return {
    add(words) {
      const place = placeOf(words)
      const known = table[place] ?? EMPTY
      if (known !== EMPTY) return known - 1
      if (size % CHUNK === 0) chunks.push(new Uint32Array(CHUNK * width))
      chunkOf(size).set(words, offsetOf(size))
      table[place] = size + 1
      size++
      if (size * 3 > table.length * 2) grow()
      return size - 1
    },
    read(id, into) {
      const chunk = chunkOf(id)
      const offset = offsetOf(id)
      for (let i = 0; i < width; i++) into[i] = chunk[offset + i] ?? 0
    },
    get size() {
      return size
    },
  }
}

/** The mixing of 32-bit MurmurHash3. */
function hashOf(words: Uint32Array, offset: number, width: number): number {
  let hash = 0
  for (let i = 0; i < width; i++) {
    let word = Math.imul(words[offset + i] ?? 0, 0xcc9e2d51)
    word = Math.imul((word << 15) | (word >>> 17), 0x1b873593)
    hash ^= word
    hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** One number for each state, in the order of their numbers. */
export type Column = { get(id: number): number; set(id: number, value: number): void }

export function createColumn(): Column {
  const chunks: Int32Array[] = []
  return {
    get: (id) => chunks[id >>> CHUNK_BITS]?.[id & (CHUNK - 1)] ?? 0,
    set(id, value) {
      const index = id >>> CHUNK_BITS
      while (chunks.length <= index) chunks.push(new Int32Array(CHUNK))
      const chunk = chunks[index]
      if (chunk !== undefined) chunk[id & (CHUNK - 1)] = value
    },
  }
}
