import { type Address, concat, type Hex, numberToHex } from 'viem'
import type { ChainSettings, StoreSettings } from '../settings.js'

/** The contract whose nonces are assigned. */
export const NUMBERED: Address = '0x00000000000000000000000000000000000c0de5'

/**
 * Executes a payload of nonce and id like a Safe: it reverts unless the nonce is the next one. Slot 0 has the
 * next nonce, and the slot with the number of the id has how often the id was executed.
 */
export const NUMBERED_CODE: Hex = '0x600435805f5414600d575f5ffd5b6001015f556024358054600101905500'

export function payloadOf(nonce: bigint, id: number): Hex {
  return concat(['0x12345678', numberToHex(nonce, { size: 32 }), numberToHex(id, { size: 32 })])
}

/** Ids begin above every slot with another meaning. */
const FIRST_ID = 1_000
const IDS_A_LIFE = 100
const LIVES_MAX = 100

/** The ids that one life of a process may use. */
export function idsOf(member: number, life: number): readonly number[] {
  const first = FIRST_ID + (member * LIVES_MAX + life) * IDS_A_LIFE
  return Array.from({ length: IDS_A_LIFE }, (_, index) => first + index)
}

/** The input of a life, on its standard input. */
export type CounterOrder = ChainSettings & {
  /** Index of the devnet's account that carries the payloads. */
  readonly account: number
  readonly store: StoreSettings
  readonly ids: readonly number[]
  /** The number of payloads to commit. Further ids fill gaps. */
  readonly asks: number
}

/** A line of JSON on standard output. */
export type CounterReport =
  /** The life assigns the nonces of the counter. */
  | { readonly report: 'open' }
  /** `commit` has resolved. */
  | { readonly report: 'committed'; readonly nonce: number; readonly id: number }
  /** Everything is executed and closed. */
  | { readonly report: 'done' }
