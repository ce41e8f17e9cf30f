import { checkNames } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { type Clock, type Random, systemClock, systemRandom } from '../platform/clock.js'
import type { Logger } from '../types/index.js'

/** Options of every service account for its requests. */
export type ServiceOptions = {
  /**
   * Maximum number of concurrent signatures; the others wait, in the order of the calls. With 50 ms per
   * signature, 16 at once give 320 per second. Set it to the service's quota. @default 16
   */
  concurrency?: number | undefined
  /**
   * Milliseconds that one signature may take, over all its requests, from its turn on. After that it fails
   * with `SIGNER`. @default 30_000
   */
  timeoutMs?: number | undefined
  /** Milliseconds after which a request without an answer is aborted and retried. @default 5_000 */
  requestTimeoutMs?: number | undefined
  /** Gets a line (`warn`) for each retry: the service, its message, and the pause. @default none */
  logger?: Logger | undefined
}

/** The options with their defaults filled in. */
export type ServiceSettings = {
  readonly concurrency: number
  readonly timeoutMs: number
  readonly requestTimeoutMs: number
  readonly logger: Logger | undefined
}

const CONCURRENCY = 16
const CONCURRENCY_MAX = 1_000
const TIMEOUT_MS = 30_000
const REQUEST_TIMEOUT_MS = 5_000
const MS_MAX = 2 ** 31 - 1

type ServiceNames = Readonly<Record<keyof ServiceOptions, true>>
const SERVICE_NAMES: ServiceNames = {
  concurrency: true,
  timeoutMs: true,
  requestTimeoutMs: true,
  logger: true,
}

/**
 * The service options among the parameters of an account function; `own` lists its own parameters.
 *
 * @throws TxlaneError `INVALID`, which names the option
 */
export function serviceSettings(parameters: unknown, own: Readonly<Record<string, true>>): ServiceSettings {
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters))
    throw invalid('parameters', parameters, 'an object')
  checkNames('', parameters, { ...own, ...SERVICE_NAMES })
  const { concurrency = CONCURRENCY, timeoutMs = TIMEOUT_MS, logger, ...rest } = parameters as ServiceOptions
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS } = rest
  checkWhole('concurrency', concurrency, CONCURRENCY_MAX)
  checkWhole('timeoutMs', timeoutMs, MS_MAX)
  checkWhole('requestTimeoutMs', requestTimeoutMs, MS_MAX)
  if (logger !== undefined && typeof (logger as Partial<Logger> | null)?.info !== 'function')
    throw invalid('logger', logger, 'a logger with the method info')
  return { concurrency, timeoutMs, requestTimeoutMs, logger }
}

function checkWhole(argument: string, value: unknown, max: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > max)
    throw invalid(argument, value, `a whole number from 1 to ${max}`)
}

/** @throws TxlaneError `INVALID` if the value is not a text of this form */
export function checkText(argument: string, value: unknown, expected: string, form = /\S/): void {
  if (typeof value !== 'string' || !form.test(value)) throw invalid(argument, value, expected)
}

/** @throws TxlaneError `INVALID` if the client of a service's SDK lacks a used method */
export function checkClient(value: unknown, methods: readonly string[], expected: string): void {
  const client = value as Record<string, unknown> | null | undefined
  const isClient = typeof client === 'object' && client !== null
  if (!isClient || methods.some((method) => typeof client[method] !== 'function'))
    throw invalid('client', value, expected)
}

/** The external dependencies of a service account. */
export type KmsEnvironment = { readonly clock: Clock; readonly random: Random }

export const systemEnvironment: KmsEnvironment = { clock: systemClock, random: systemRandom }
