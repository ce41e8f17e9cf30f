import type { Address, Hex } from 'viem'
import type { Money, Row } from './rows.js'
import { Records } from './table/records.js'
import type { TableRows } from './table/tableRows.js'

/** The result of the check of a row. */
export type Checked = Pick<Row, 'to' | 'amount' | 'money'> & {
  readonly name?: string | undefined
  /** Undefined for a payment. */
  readonly data?: Hex | undefined
  readonly gas?: bigint | undefined
}

/**
 * The checked rows of a file, in columns outside of the heap: 200,000 objects with all their parts would need more
 * than 100 MB. A row is an object of two words, the same one as long as the payout lives, and reads its parts from the
 * columns. They are no own properties: a spread of a row is empty.
 */
export class CheckedRows {
  readonly #table: TableRows
  readonly #width: number
  /** The index of each row in the table. */
  readonly #places: Uint32Array
  readonly #ids = new Records()
  /** The digits of the recipients. */
  readonly #to: Buffer
  readonly #amounts: BigUint64Array
  readonly #largeAmounts = new Map<number, bigint>()
  readonly #moneys: Uint32Array
  readonly #moneyList: Money[] = []
  readonly #moneyNumbers = new Map<Money, number>()
  /** The parts that few rows have: names and calls. */
  readonly #extras = new Map<number, Pick<Checked, 'name' | 'data' | 'gas'>>()
  #length = 0

  /** Makes room for at most `count` rows of a table with this many columns. */
  constructor(table: TableRows, width: number, count: number) {
    this.#table = table
    this.#width = width
    this.#places = new Uint32Array(count)
    this.#to = Buffer.allocUnsafeSlow(count * DIGITS)
    this.#amounts = new BigUint64Array(count)
    this.#moneys = new Uint32Array(count)
  }

  get length(): number {
    return this.#length
  }

  add(place: number, { to, amount, money, name, data, gas }: Checked, id: string): void {
    const index = this.#length++
    this.#places[index] = place
    this.#ids.add([id])
    this.#to.write(to.slice(2), index * DIGITS, 'latin1')
    if (amount > UINT64_MAX) this.#largeAmounts.set(index, amount)
    else this.#amounts[index] = amount
    this.#moneys[index] = this.#numberOf(money)
    if (name !== undefined || data !== undefined || gas !== undefined)
      this.#extras.set(index, { name, data, gas })
  }

  #numberOf(money: Money): number {
    const known = this.#moneyNumbers.get(money) ?? this.#moneyList.push(money) - 1
    this.#moneyNumbers.set(money, known)
    return known
  }

  rows(): readonly Row[] {
    return Array.from({ length: this.#length }, (_, index) => new CheckedRow(this, index))
  }

  placeAt(index: number): number {
    return this.#places[index] as number
  }

  lineAt(index: number): number {
    return this.#table.lineAt(this.placeAt(index))
  }

  cellsAt(index: number): readonly string[] {
    const cells = this.#table.cellsAt(this.placeAt(index))
    return cells.length === this.#width
      ? cells
      : Array.from({ length: this.#width }, (_, at) => cells[at] ?? '')
  }

  idAt(index: number): string {
    return this.#ids.at(index)[0] as string
  }

  toAt(index: number): Address {
    return `0x${this.#to.toString('latin1', index * DIGITS, (index + 1) * DIGITS)}`
  }

  amountAt(index: number): bigint {
    return this.#largeAmounts.get(index) ?? (this.#amounts[index] as bigint)
  }

  moneyAt(index: number): Money {
    return this.#moneyList[this.#moneys[index] as number] as Money
  }

  extrasAt(index: number): Pick<Checked, 'name' | 'data' | 'gas'> {
    return this.#extras.get(index) ?? NO_EXTRAS
  }
}

const DIGITS = 40
const UINT64_MAX = 2n ** 64n - 1n
const NO_EXTRAS = { name: undefined, data: undefined, gas: undefined }

class CheckedRow implements Row {
  readonly #all: CheckedRows
  readonly #index: number

  constructor(all: CheckedRows, index: number) {
    this.#all = all
    this.#index = index
  }

  get line() {
    return this.#all.lineAt(this.#index)
  }
  get id() {
    return this.#all.idAt(this.#index)
  }
  get to() {
    return this.#all.toAt(this.#index)
  }
  get name() {
    return this.#all.extrasAt(this.#index).name
  }
  get amount() {
    return this.#all.amountAt(this.#index)
  }
  get money() {
    return this.#all.moneyAt(this.#index)
  }
  get request() {
    const { to, amount, money } = this
    const { data, gas } = this.#all.extrasAt(this.#index)
    return requestOf({ to, amount, money, data, gas })
  }
  get cells() {
    return this.#all.cellsAt(this.#index)
  }
}

/** The transaction of a row. */
export function requestOf({ to, amount, money, data, gas }: Checked): Row['request'] {
  // No spread: its objects are slow, and survive the quick garbage collections.
  const request =
    data !== undefined
      ? { to, value: amount, data }
      : money.kind === 'native'
        ? { to, value: amount }
        : { to: money.address, value: 0n, data: transferOf(to, amount) }
  return gas === undefined ? request : { ...request, gas }
}

const TRANSFER = '0xa9059cbb'

// The same bytes as those of encodeFunctionData, which takes half of the time of a large file.
function transferOf(to: Address, amount: bigint): Hex {
  return `${TRANSFER}${to.slice(2).toLowerCase().padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`
}
