const CAPACITY_MIN = 16
/**
 * If the nonces spread over more than this many cells per entry (plus `CELLS_SPARE`), they are not close
 * together.
 */
const CELLS_FOR_EACH = 8
const CELLS_SPARE = 1_024

/**
 * A map keyed by nonce, for nonces that lie close together and move upwards: a ring of cells, indexed by the
 * nonce itself. A `Map` takes four times the memory per entry, and rebuilds its table again and again as the
 * keys move on. Every lane has several of these maps, and each transaction reads all of them.
 *
 * Nonces that lie far apart are kept in a `Map` until all of them are deleted. Iteration follows the order of
 * the nonces, or the order of insertion if they lie far apart. Entries that are deleted during an iteration
 * are skipped.
 */
export class NonceMap<V extends NonNullable<unknown>> {
  private cells: (V | undefined)[] = emptyCells(CAPACITY_MIN)
  private mask = CAPACITY_MIN - 1
  /** All entries lie in [low, high), a range that is never larger than the number of cells. */
  private low = 0
  private high = 0
  private held = 0
  private scattered: Map<number, V> | undefined

  get size(): number {
    return this.scattered ? this.scattered.size : this.held
  }

  get(nonce: number): V | undefined {
    if (this.scattered) return this.scattered.get(nonce)
    return nonce >= this.low && nonce < this.high ? this.cells[nonce & this.mask] : undefined
  }

  has(nonce: number): boolean {
    return this.get(nonce) !== undefined
  }

  set(nonce: number, value: V): void {
    if (this.scattered === undefined && !this.reach(nonce)) this.scatter()
    if (this.scattered) {
      this.scattered.set(nonce, value)
      return
    }
    const at = nonce & this.mask
    if (this.cells[at] === undefined) this.held++
    this.cells[at] = value
  }

  delete(nonce: number): boolean {
    if (this.scattered) return this.deleteScattered(this.scattered, nonce)
    if (!this.has(nonce)) return false
    this.cells[nonce & this.mask] = undefined
    this.held--
    if (nonce === this.low) this.raiseLow()
    if (this.cells.length > CAPACITY_MIN && this.held * CELLS_FOR_EACH < this.cells.length) this.shrink()
    return true
  }

  clear(): void {
    this.scattered = undefined
    this.cells = emptyCells(CAPACITY_MIN)
    this.mask = CAPACITY_MIN - 1
    this.low = 0
    this.high = 0
    this.held = 0
  }

  /**
   * The values from `from` (inclusive) to `to` (exclusive), in the order of the nonces. The cost depends on
   * the number of entries in the range, even if the bounds are a million apart.
   */
  *between(from: number, to: number): Generator<V> {
    const nonces = this.scattered ? sortedWithin(this.scattered.keys(), from, to) : undefined
    const end = nonces?.length ?? Math.min(to, this.high)
    for (let at = nonces ? 0 : Math.max(from, this.low); at < end; at++) {
      const value = this.get(nonces?.[at] ?? at)
      if (value !== undefined) yield value
    }
  }

  *keys(): Generator<number> {
    for (const [nonce] of this) yield nonce
  }

  *values(): Generator<V> {
    for (const [, value] of this) yield value
  }

  *[Symbol.iterator](): Generator<[number, V]> {
    if (this.scattered) return yield* this.scattered
    for (let nonce = this.low; nonce < this.high; nonce++) {
      const value = this.get(nonce)
      if (value !== undefined) yield [nonce, value]
    }
  }

  /** Makes room for this nonce. Returns false if the nonce lies too far away. */
  private reach(nonce: number): boolean {
    if (this.held === 0) this.low = this.high = nonce
    if (nonce >= this.low && nonce < this.high) return true
    const low = Math.min(this.low, nonce)
    const high = Math.max(this.high, nonce + 1)
    if (high - low > this.cells.length) {
      if (high - low > CELLS_FOR_EACH * this.held + CELLS_SPARE) return false
      this.resize(high - low)
    }
    this.low = low
    this.high = high
    return true
  }

  private raiseLow(): void {
    while (this.low < this.high && this.cells[this.low & this.mask] === undefined) this.low++
  }

  /** An entry far above the rest keeps the ring at its present size. */
  private shrink(): void {
    const span = this.high - this.low
    if (2 * span <= this.cells.length) this.resize(span)
  }

  private resize(span: number): void {
    let capacity = CAPACITY_MIN
    while (capacity < span) capacity *= 2
    const before = { cells: this.cells, mask: this.mask }
    this.cells = emptyCells(capacity)
    this.mask = capacity - 1
    for (let nonce = this.low; nonce < this.high; nonce++)
      this.cells[nonce & this.mask] = before.cells[nonce & before.mask]
  }

  private scatter(): void {
    const scattered = new Map(this)
    this.clear()
    this.scattered = scattered
  }

  private deleteScattered(scattered: Map<number, V>, nonce: number): boolean {
    const wasThere = scattered.delete(nonce)
    if (scattered.size === 0) this.scattered = undefined
    return wasThere
  }
}

export type ReadonlyNonceMap<V extends NonNullable<unknown>> = Pick<
  NonceMap<V>,
  'get' | 'has' | 'size' | 'keys' | 'values' | typeof Symbol.iterator
>

function sortedWithin(nonces: Iterable<number>, from: number, to: number): number[] {
  return [...nonces].filter((nonce) => nonce >= from && nonce < to).sort((a, b) => a - b)
}

function emptyCells<V>(capacity: number): (V | undefined)[] {
  return new Array<V | undefined>(capacity).fill(undefined)
}
