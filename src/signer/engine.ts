import { bytesToHex, type Hex, hexToBytes, keccak256 } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { bytesOf, hexOf, newBytes } from './hex.js'

/** The functions that sign and hash bytes. */
export type SigningEngine = {
  readonly kind: 'native' | 'wasm'
  /** Deterministic (RFC 6979) with low s: every library returns the same for the same hash and key. */
  readonly sign: (hash: Uint8Array, privateKey: Uint8Array) => Signature
  /**
   * The public key (65 bytes, uncompressed) to which a signature of this hash recovers with this `yParity`.
   * It may throw.
   */
  readonly recover: (hash: Uint8Array, signature: Signature) => Uint8Array | null
  readonly keccak: (bytes: Uint8Array) => Uint8Array
}

export type Signature = {
  /** r and s, 32 bytes each. */
  readonly rs: Uint8Array
  /** Selects one of the two keys to which the signature recovers. */
  readonly yParity: number
}

type Loader = () => Promise<SigningEngine>

// Prebuilt binaries exist for linux-x64 (glibc and musl), darwin and win32-x64 in secp256k1 5.0.2 and keccak
// 3.0.4; on other platforms a compiler may have built them. WebAssembly runs wherever Node does.
const LOADERS: readonly Loader[] = [loadNative, loadWasm]

// Found once, because the installed packages do not change while a program runs.
let found: Promise<SigningEngine | undefined> | undefined

/** `findEngine`, once for all accounts of the process. */
export function sharedEngine(): Promise<SigningEngine | undefined> {
  found ??= findEngine()
  return found
}

/**
 * The fastest engine whose package is installed, runs on this machine and returns the same bytes as viem;
 * undefined if there is none.
 */
export async function findEngine(loaders: readonly Loader[] = LOADERS): Promise<SigningEngine | undefined> {
  for (const load of loaders) {
    const engine = await load().catch(() => undefined)
    if (engine && (await agrees(engine).catch(() => false))) return engine
  }
  return undefined
}

const NO_OPTIONS = {}

export async function loadNative(): Promise<SigningEngine> {
  const { ecdsaRecover, ecdsaSign } = interop(await import('secp256k1/bindings.js'))
  return {
    kind: 'native',
    sign(hash, privateKey) {
      const { signature, recid } = ecdsaSign(hash, privateKey, NO_OPTIONS, newBytes(64))
      return { rs: signature, yParity: recid }
    },
    recover: (hash, { rs, yParity }) => ecdsaRecover(rs, yParity, hash, false),
    keccak: await loadKeccak(),
  }
}

export async function loadWasm(): Promise<SigningEngine> {
  const { recover, signRecoverable } = await import('tiny-secp256k1')
  return {
    kind: 'wasm',
    sign(hash, privateKey) {
      const { signature, recoveryId } = signRecoverable(hash, privateKey)
      return { rs: signature, yParity: recoveryId }
    },
    recover: (hash, { rs, yParity }) => recover(hash, rs, yParity === 0 ? 0 : 1, false),
    keccak: await loadKeccak(),
  }
}

/** The sponge of the keccak addon. */
type KeccakState = {
  initialize(rate: number, capacity: number): void
  absorb(bytes: Uint8Array): void
  squeeze(length: number): Uint8Array
}

/** Hashing is a tenth of the work, so without the addon viem's own function is used. */
async function loadKeccak(): Promise<SigningEngine['keccak']> {
  try {
    const create = (await import('keccak/bindings.js')).default as (algorithm: 'keccak256') => unknown
    // The package's API creates a stream, which takes longer than a hash. One sponge is reused for all hashes
    // instead.
    const { _state: sponge } = create('keccak256') as { _state: KeccakState }
    const keccak = (bytes: Uint8Array) => {
      sponge.initialize(1_088, 512)
      sponge.absorb(bytes)
      return sponge.squeeze(32)
    }
    for (const bytes of [SAMPLE.hash, SAMPLE.key])
      if (bytesToHex(keccak(bytes)) !== keccak256(bytes)) return plainKeccak
    return keccak
  } catch {
    // The addon is not installed, or not available for this machine.
    return plainKeccak
  }
}

const plainKeccak = (bytes: Uint8Array) => keccak256(bytes, 'bytes')

/** Node imports a CommonJS module with its exports on `default`. */
function interop<module extends object>(loaded: module): module {
  return (loaded as { default?: module }).default ?? loaded
}

const SAMPLE = { key: new Uint8Array(32).fill(0x42), hash: new Uint8Array(32).fill(0x17) }

/** False for an addon that loads but returns wrong results (another runtime's N-API, for example). */
async function agrees(engine: SigningEngine): Promise<boolean> {
  const privateKey = bytesToHex(SAMPLE.key)
  const expected = await sign({ hash: bytesToHex(SAMPLE.hash), privateKey })
  const signature = engine.sign(SAMPLE.hash, SAMPLE.key)
  const { rs, yParity } = signature
  const same = bytesToHex(rs) === `${expected.r}${expected.s.slice(2)}` && yParity === expected.yParity
  const key = same ? engine.recover(SAMPLE.hash, signature) : null
  return (
    key !== null &&
    bytesToHex(key) === privateKeyToAccount(privateKey).publicKey &&
    bytesToHex(engine.keccak(hexToBytes('0x'))) === keccak256('0x')
  )
}

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
