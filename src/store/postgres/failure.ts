import { isTxlaneError, TxlaneError } from '../../errors/base.js'
import { redactForeign } from '../../errors/redact.js'

/** Two transactions conflicted. PostgreSQL rolled one back, and it can simply be repeated. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

/**
 * 08: the connection broke. 57P: the server is shutting down. 40003: the server does not know the result.
 * With any of these the statement may have been committed before the error.
 */
const DOUBTFUL = /^(?:08|57P|40003)/

/**
 * The code with which the server refused the statement as a whole. Undefined for any other error, which
 * happened in transit.
 */
function refusal(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && severity !== undefined ? code : undefined
}

/** True if the statement certainly had no effect and the connection is still usable. */
export function isRefused(error: unknown): boolean {
  const code = refusal(error)
  return code !== undefined && !DOUBTFUL.test(code)
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(refusal(error) ?? '')
}

const UNREACHED = 'PostgreSQL cannot be reached.'

export type Failure = {
  readonly error: unknown
  /** True if it is unknown whether the statement was committed. */
  readonly unknown: boolean
  readonly secrets: readonly string[]
}

/**
 * Converts a driver error to txlane's own error. Only code and message are taken over: the other fields quote
 * rows, and statements that contain signed bytes.
 */
export function storeFailure({ error, unknown, secrets }: Failure): TxlaneError {
  if (isTxlaneError(error)) return error
  const said = described(error, secrets)
  if (unknown)
    return unknownResult(
      'The answer of PostgreSQL was lost, so it is unknown whether the write was committed.',
      said,
    )
  const cause = Object.assign(new Error(said), codeOf(error))
  return new TxlaneError(whatFailed(error), {
    code: 'STORE',
    fate: 'notExecuted',
    cause,
  })
}

/**
 * Causes that an operator has to fix. SQLSTATEs are from PostgreSQL's appendix A, the others are Node's
 * socket codes. The driver gives no code if waiting for a connection times out, or if the connection string
 * has no password.
 */
const CAUSES: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/^(?:28P01|28000)$/, 'PostgreSQL refuses the user or the password.'],
  [/^3D000$/, 'PostgreSQL does not have the database.'],
  [/^42501$/, 'PostgreSQL denies the user a required permission.'],
  [/^53300$/, 'PostgreSQL has no free connection.'],
  [/^57P0[1-5]$/, 'PostgreSQL is starting or stopping.'],
  [/^(?:08...|E(?:CONN|HOST|NET)[A-Z]+|ENOTFOUND|EAI_[A-Z]+|ETIMEDOUT|EPIPE|ENOENT)$/, UNREACHED],
  [
    /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_)/,
    'The connection to PostgreSQL cannot be encrypted.',
  ],
]
const WORDS: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/password must be a string/i, 'PostgreSQL refuses the user or the password.'],
  [/does not support SSL/i, 'The connection to PostgreSQL cannot be encrypted.'],
  [/^No answer within|timeout exceeded|timeout expired|Connection terminated/i, UNREACHED],
]

function whatFailed(error: unknown): string {
  const { message, errors } = (error ?? {}) as { message?: unknown; errors?: readonly unknown[] }
  // If several addresses were tried, the code of the first error counts for all.
  const code = codeOf(error).code ?? codeOf(errors?.[0]).code ?? ''
  const found =
    CAUSES.find(([pattern]) => pattern.test(code)) ??
    WORDS.find(([pattern]) => typeof message === 'string' && pattern.test(message))
  return found?.[1] ?? 'PostgreSQL failed to execute a statement.'
}

/**
 * Only a part of the request is certain to be done. The caller has to check before it repeats the request.
 */
export function halfDone(error: unknown): TxlaneError {
  const said = error instanceof Error ? redactForeign(error.message) : 'unknown error'
  return unknownResult('Only a part was stored before PostgreSQL failed.', said)
}

function unknownResult(message: string, said: string): TxlaneError {
  return new TxlaneError(message, {
    code: 'STORE',
    fate: 'inFlight',
    details: 'unknown',
    // The details already give the result.
    metaMessages: [`Cause: ${said}`],
  })
}

function codeOf(error: unknown): { code?: string } {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? { code } : {}
}

function described(error: unknown, secrets: readonly string[]): string {
  const { message, errors } = (error ?? {}) as { message?: unknown; errors?: unknown }
  // If several addresses were tried, the aggregate error has no message of its own.
  const parts = Array.isArray(errors) && !message ? errors.map((one) => (one as Error).message) : [message]
  const { code } = codeOf(error)
  const text = `${parts.join('; ') || 'unknown error'}${code === undefined ? '' : ` (${code})`}`
  return secrets.reduce((cut, secret) => cut.replaceAll(secret, '<redacted>'), redactForeign(text))
}

/**
 * The parts of a connection string that must not appear anywhere: the string itself and the password, encoded
 * and decoded.
 */
export function secretsOf(connectionString: string | undefined): readonly string[] {
  if (connectionString === undefined) return []
  const { password, searchParams } = new URL(connectionString)
  return [connectionString, password, decoded(password), searchParams.get('password') ?? '']
    .filter((secret) => secret !== '')
    .sort((a, b) => b.length - a.length)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
