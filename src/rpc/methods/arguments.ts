import { type Hex, isAddress } from 'viem'
import { invalid } from '../../errors/invalid.js'

/** A storage slot's position: hex of up to 32 bytes, or a number. */
export type SlotPosition = Hex | bigint | number

const POSITION = /^0x[0-9a-f]{1,64}$/i
const POSITION_MAX = 2n ** 256n - 1n

/** @throws `INVALID` if the value is not 20 bytes of hex, or if it has mixed case and a wrong checksum */
export function encodeAddress(address: unknown, argument = 'address'): Hex {
  if (typeof address === 'string' && isAddress(address)) return address.toLowerCase() as Hex
  throw invalid(argument, address, 'an address of 20 bytes (with mixed case, a right checksum)')
}

/** @throws `INVALID` if the value is not a storage position */
export function encodeSlot(slot: unknown, argument = 'slot'): Hex {
  if (typeof slot === 'string' && POSITION.test(slot)) return slot.toLowerCase() as Hex
  if (typeof slot === 'number' && Number.isSafeInteger(slot) && slot >= 0) return `0x${slot.toString(16)}`
  if (typeof slot === 'bigint' && slot >= 0n && slot <= POSITION_MAX) return `0x${slot.toString(16)}`
  throw invalid(argument, slot, 'a storage position (hex of up to 32 bytes, or a number)')
}

/** @throws `INVALID` if the value is neither undefined nor calldata */
export function checkGetter(getter: unknown, argument = 'getter'): Hex | undefined {
  if (getter === undefined || (typeof getter === 'string' && /^0x(?:[0-9a-f]{2})*$/i.test(getter)))
    return getter as Hex | undefined
  throw invalid(argument, getter, 'the calldata of a view function, as hex')
}

/** @throws `INVALID` if the value is not a positive, finite number of milliseconds */
export function checkMs(value: number, argument: string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw invalid(argument, value, 'a positive number of milliseconds')
}
