import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1'
import { type Hex, hexToBytes } from 'viem'
import { createRandom } from '../../test/sim/random.js'
import { createVirtualClock, type VirtualClock } from '../../test/sim/virtualClock.js'
import { sharedEngine } from '../signer/engine.js'
import type { AwsKmsClient } from './awsKms.js'
import type { KmsEnvironment } from './options.js'

export const KEY: Hex = `0x${'3b'.repeat(32)}`

export type VirtualEnvironment = KmsEnvironment & { readonly clock: VirtualClock }

export function virtualEnvironment(): VirtualEnvironment {
  return { clock: createVirtualClock(), random: createRandom(1) }
}

/** The SubjectPublicKeyInfo of a secp256k1 private key in DER. */
export function spkiOf(key: Hex, isCompressed = false): Uint8Array {
  const point = secp256k1.getPublicKey(hexToBytes(key), isCompressed)
  const head = isCompressed
    ? '3036301006072a8648ce3d020106052b8104000a032200'
    : '3056301006072a8648ce3d020106052b8104000a034200'
  return Uint8Array.from([...Buffer.from(head, 'hex'), ...point])
}

/** A signature in DER. `isHigh` selects the higher of the two s values, because services return either. */
export function derOf(key: Hex, hash: Uint8Array, isHigh = false): Uint8Array {
  return derWith(secp256k1.sign(hash, hexToBytes(key)).toCompactRawBytes(), isHigh)
}

/** The DER of a signed r and s, of which s is the lower one. */
function derWith(rs: Uint8Array, isHigh: boolean): Uint8Array {
  const { r, s } = secp256k1.Signature.fromCompact(rs)
  return new secp256k1.Signature(r, isHigh ? secp256k1.CURVE.n - s : s).toDERRawBytes()
}

export function keyPair(namedCurve: string): {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
} {
  return generateKeyPairSync('ec', { namedCurve })
}

export type ScriptedAws = AwsKmsClient & {
  /** The requests to `sign`, in order. */
  readonly asked: readonly { readonly hash: Uint8Array; readonly atMs: number }[]
  /** The number of running requests, and its maximum. */
  readonly under: { now: number; most: number }
}

/**
 * A `KMS` client whose signatures take time. `fails` is called before each signature with the number of
 * earlier requests. Its result is thrown; `never` means no answer.
 */
export function scriptedAws(
  clock: VirtualClock,
  options: { ms?: (count: number) => number; fails?: (count: number) => unknown; key?: Hex } = {},
): ScriptedAws {
  const { ms = () => 0, fails, key = KEY } = options
  const asked: { hash: Uint8Array; atMs: number }[] = []
  const under = { now: 0, most: 0 }
  return {
    asked,
    under,
    getPublicKey: async () => ({
      PublicKey: spkiOf(KEY),
      KeySpec: 'ECC_SECG_P256K1',
      KeyUsage: 'SIGN_VERIFY',
    }),
    async sign({ Message: hash }) {
      const count = asked.length
      asked.push({ hash, atMs: clock.now() })
      under.most = Math.max(under.most, ++under.now)
      try {
        const takesMs = ms(count)
        if (takesMs > 0) await new Promise<void>((resolve) => void clock.setTimer(resolve, takesMs))
        const failure = fails?.(count)
        if (failure === 'never') await new Promise<never>(() => {})
        if (failure !== undefined) throw failure
        const engine = await sharedEngine()
        const isHigh = count % 2 === 1
        const signed = engine?.sign(hash, hexToBytes(key)).rs
        return { Signature: signed ? derWith(signed, isHigh) : derOf(key, hash, isHigh) }
      } finally {
        under.now--
      }
    },
  }
}

/** An error as the AWS SDK throws it. */
export function awsError(name: string, message: string, status = 400): Error {
  return Object.assign(new Error(message), {
    name,
    $fault: status < 500 ? 'client' : 'server',
    $metadata: { httpStatusCode: status },
  })
}
