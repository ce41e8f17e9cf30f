import type { Hex } from 'viem'
import type { Signature } from './engine.js'
import { bytesOf, hexOf } from './hex.js'

/** r, s and v in 65 bytes, the form of message signatures. */
export function compact({ rs, yParity }: Signature): Hex {
  return `${hexOf(rs)}${yParity === 0 ? '1b' : '1c'}`
}

/** Parses a signature that `compact` wrote. */
export function parse(signature: Hex): Signature {
  return { rs: bytesOf(signature.slice(0, 130) as Hex), yParity: signature.endsWith('1c') ? 1 : 0 }
}

/** The signature as the fields of viem's serializers and authorizations. */
export function fieldsOf({ rs, yParity }: Signature) {
  const hex = hexOf(rs)
  return {
    r: hex.slice(0, 66) as Hex,
    s: `0x${hex.slice(66)}` as Hex,
    v: BigInt(27 + yParity),
    yParity,
  }
}
