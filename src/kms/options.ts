import { checkNames } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import type { Logger } from '../types/index.js'

/** How a service is asked for signatures. Every account of a service takes these. */
export type ServiceOptions = {
  /**
   * Signatures that the service is asked for at once; the others wait for their turn, in the order in which they were
   * asked for. With 50 ms a signature, 16 at once make 320 a second: set it to what the service's quota allows.
   * @default 16
   */
  concurrency?: number | undefined
  /**
   * Milliseconds that one signature may take, all requests for it together, from its turn on. After that it fails with
   * `SIGNER`. @default 30_000
   */
  timeoutMs?: number | undefined
  /** Milliseconds until a request without an answer is given up and made again. @default 5_000 */
  requestTimeoutMs?: number | undefined
  /** Gets a line (`warn`) for each request that is made again: the service, its words, how long it waits. @default none */
  logger?: Logger | undefined
}

/** The options, each with its value. */
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
 * The options of every service among the parameters of one, whose `own` names stand beside them.
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

/** @throws TxlaneError `INVALID` where it is no text of this form */
export function checkText(argument: string, value: unknown, expected: string, form = /\S/): void {
  if (typeof value !== 'string' || !form.test(value)) throw invalid(argument, value, expected)
}

/** @throws TxlaneError `INVALID` where the client of a service's SDK lacks a method that is called */
export function checkClient(value: unknown, methods: readonly string[], expected: string): void {
  const client = value as Record<string, unknown> | null | undefined
  const isClient = typeof client === 'object' && client !== null
  if (!isClient || methods.some((method) => typeof client[method] !== 'function'))
    throw invalid('client', value, expected)
}
