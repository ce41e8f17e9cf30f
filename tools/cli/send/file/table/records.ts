import { NumberList } from './numberList.js'

const CHUNK_BYTES = 1_048_576

/**
 * Lists of texts in a compact form, outside of the heap. 200,000 lines as arrays of strings would need four times
 * the memory of their file.
 */
export class Records {
  readonly #chunks: Buffer[] = []
  /** The end of each record. The bytes of all chunks are numbered through, and no record lies in two chunks. */
  readonly #ends = new NumberList()
  /** Records that the compact form cannot hold. */
  readonly #others = new Map<number, readonly string[]>()

  get length(): number {
    return this.#ends.length
  }

  add(texts: readonly string[]): void {
    const joined = texts.length === 1 ? (texts[0] as string) : texts.join(BETWEEN)
    const bytes = Buffer.byteLength(joined)
    const end = this.#ends.at(this.length - 1)
    if (bytes > CHUNK_BYTES || texts.length === 0 || !isPlain(texts, joined, bytes)) {
      this.#others.set(this.length, texts)
      this.#ends.push(end)
      return
    }
    const left = this.#chunks.length * CHUNK_BYTES - end
    const start = bytes > left ? end + left : end
    if (bytes > left) this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES))
    this.#chunks[this.#chunks.length - 1]?.write(joined, start % CHUNK_BYTES)
    this.#ends.push(start + bytes)
  }

  at(index: number): readonly string[] {
    return this.#others.get(index) ?? this.#joined(index).split(BETWEEN)
  }

  #joined(index: number): string {
    const end = this.#ends.at(index)
    const before = index === 0 ? 0 : this.#ends.at(index - 1)
    if (before === end) return ''
    const chunk = Math.floor((end - 1) / CHUNK_BYTES)
    const offset = chunk * CHUNK_BYTES
    // The first record of a chunk may follow a gap.
    return (this.#chunks[chunk] as Buffer).toString('utf8', Math.max(before, offset) - offset, end - offset)
  }
}

const BETWEEN = '\0'
const SURROGATE = /\p{Surrogate}/u

/** Half of a surrogate pair has no UTF-8. */
function isPlain(texts: readonly string[], joined: string, bytes: number): boolean {
  if (bytes !== joined.length && SURROGATE.test(joined)) return false
  for (const text of texts) if (text.includes(BETWEEN)) return false
  return true
}
