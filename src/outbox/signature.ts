import { invalid } from '../errors/invalid.js'

/**
 * The symmetric scheme of Standard Webhooks 1.0.0, which its libraries for other languages verify too
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, "Signature
 * scheme" and "Webhook headers"): HMAC-SHA256 over `id.timestamp.body`, in base64 after `v1,`; several
 * signatures are separated by a space; secrets are 24 to 64 bytes in base64 after `whsec_`.
 */
export const HEADERS = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64
const EXPECTED = `\`whsec_\` and ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes in base64`
const SECRETS_MAX = 8

/** Computes the signatures of a message, one for each secret. */
export type Signer = (id: string, timestamp: string, body: Uint8Array) => Promise<readonly Uint8Array[]>

/** @throws TxlaneError `INVALID`, without any secret */
export function createSigner(secret: unknown): Signer {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  if (secrets.length === 0 || secrets.length > SECRETS_MAX)
    throw invalid('secret', secret, `one secret, or up to ${SECRETS_MAX}`)
  const bytes = secrets.map((one, index) =>
    secretBytes(Array.isArray(secret) ? `secret[${index}]` : 'secret', one),
  )
  let keys: Promise<readonly CryptoKey[]> | undefined
  return async (id, timestamp, body) => {
    keys ??= Promise.all(bytes.map(keyOf))
    const head = new TextEncoder().encode(`${id}.${timestamp}.`)
    const message = new Uint8Array(head.length + body.length)
    message.set(head)
    message.set(body, head.length)
    return Promise.all((await keys).map((key) => macOf(key, message)))
  }
}

function secretBytes(argument: string, secret: unknown): Uint8Array<ArrayBuffer> {
  const [, text] = typeof secret === 'string' ? (SECRET.exec(secret) ?? []) : []
  const bytes = text === undefined ? undefined : decoded(text)
  if (bytes && bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX) return bytes
  // The value is not shown, because it may be most of a secret.
  throw invalid(argument, typeof secret === 'string' ? '<hidden>' : secret, EXPECTED)
}

/** Undefined if the text is not base64. */
export function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
  } catch {
    return undefined
  }
}

export function encoded(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

function keyOf(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

async function macOf(key: CryptoKey, message: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, message))
}

/** The time depends on the lengths only. */
export function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < b.length; index++) difference |= (a[index] ?? 0) ^ (b[index] ?? 0)
  return difference === 0
}
