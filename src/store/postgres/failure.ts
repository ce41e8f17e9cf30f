import { isTxlaneError, TxlaneError } from '../../errors/base.js'
import { redactForeign } from '../../errors/redact.js'

/** Two transactions stood in each other's way: PostgreSQL took one back, and it may simply be tried again. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

/**
 * 08: the connection broke. 57P: the server is going down. 40003: it does not know itself. With any of these the
 * statement may have been committed before it came to that.
 */
const DOUBTFUL = /^(?:08|57P|40003)/

/** Answered by the server, which refused the statement as a whole. Everything else happened on the way. */
function refusal(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && severity !== undefined ? code : undefined
}

/** Certain that nothing was done; the connection is as good as before. */
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
  /** Nobody can say whether it was committed. */
  readonly unknown: boolean
  readonly secrets: readonly string[]
}

/**
 * What the driver threw, as txlane's own error. Of the original, code and message alone are taken over: its other
 * fields quote rows, and statements with signed bytes in them.
 */
export function storeFailure({ error, unknown, secrets }: Failure): TxlaneError {
  if (isTxlaneError(error)) return error
  const said = described(error, secrets)
  if (unknown)
    return unknownResult('The answer of PostgreSQL was lost: what was written may be there, or not.', said)
  const cause = Object.assign(new Error(said), codeOf(error))
  return new TxlaneError(whatFailed(error), {
    code: 'STORE',
    fate: 'notExecuted',
    cause,
  })
}

/**
 * What an operator has to look at. SQLSTATEs are those of PostgreSQL's appendix A, the others Node's of its sockets. The
 * driver has no code where it waits for a connection in vain, and where the connection string has no password.
 */
const CAUSES: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/^(?:28P01|28000)$/, 'PostgreSQL refuses the user or the password.'],
  [/^3D000$/, 'PostgreSQL does not have the database.'],
  [/^42501$/, 'PostgreSQL does not give the user the right to do it.'],
  [/^53300$/, 'PostgreSQL has no connection left.'],
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
  // Several addresses were tried: what the first one said goes for all.
  const code = codeOf(error).code ?? codeOf(errors?.[0]).code ?? ''
  const found =
    CAUSES.find(([pattern]) => pattern.test(code)) ??
    WORDS.find(([pattern]) => typeof message === 'string' && pattern.test(message))
  return found?.[1] ?? 'PostgreSQL did not do what it was asked to.'
}

/** Only a part of what was asked for is certain: who asked has to look before it asks again. */
export function halfDone(error: unknown): TxlaneError {
  const said = error instanceof Error ? redactForeign(error.message) : 'unknown error'
  return unknownResult('A part was kept before PostgreSQL failed.', said)
}

function unknownResult(message: string, said: string): TxlaneError {
  return new TxlaneError(message, {
    code: 'STORE',
    fate: 'inFlight',
    details: 'unknown',
    // The details say already what the result is.
    metaMessages: [`Cause: ${said}`],
  })
}

function codeOf(error: unknown): { code?: string } {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? { code } : {}
}

function described(error: unknown, secrets: readonly string[]): string {
  const { message, errors } = (error ?? {}) as { message?: unknown; errors?: unknown }
  // Several addresses were tried: the sum of their errors has no message of its own.
  const parts = Array.isArray(errors) && !message ? errors.map((one) => (one as Error).message) : [message]
  const { code } = codeOf(error)
  const text = `${parts.join('; ') || 'unknown error'}${code === undefined ? '' : ` (${code})`}`
  return secrets.reduce((cut, secret) => cut.replaceAll(secret, '<redacted>'), redactForeign(text))
}

/** What of a connection string must not be read anywhere: itself, and the password, as written and as meant. */
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
