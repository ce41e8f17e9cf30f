import type { Chain } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { aborted, type RpcErrorContext, rpcError } from '../errors.js'
import { limitBatches } from '../limitBatches.js'
import { isBusy } from '../limits.js'
import { call, type Port, type RpcCall } from '../port.js'
import { type AnyClient, clientPorts } from '../transports/fromClient.js'
import { fetchFnOf } from './fetchFns.js'

/** The source of a read: a viem client, whose transport is converted to ports, or a port. */
export type ReadSource<chain extends Chain | undefined = Chain | undefined> = AnyClient<chain> | Port

/** Options of every read beside its own parameters. */
export type ReadOptions = {
  /**
   * Milliseconds after which an endpoint without an answer counts as failed. @default the transport's, 10,000
   */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const portsBySource = new WeakMap<object, readonly Port[]>()

/** The ports to read from, in order. They are created once per source. */
export function readPorts(
  source: ReadSource,
  options: { readonly clock?: Clock | undefined } = {},
): readonly Port[] {
  const known = portsBySource.get(source)
  if (known !== undefined) return known
  const ports = portsOf(source, options).map((port) => limitBatches(port))
  portsBySource.set(source, ports)
  return ports
}

function portsOf(source: ReadSource, options: { readonly clock?: Clock | undefined }): readonly Port[] {
  if (isPort(source)) return [source]
  const all = clientPorts(source, { ...options, fetchFn: fetchFnOf(source) })
  const reading = all.filter(({ role }) => role !== 'send')
  return (reading.length > 0 ? reading : all).map(({ port }) => port)
}

/** The formatters of the client's chain. A port has none, so viem's own are used. */
export function formattersOf(source: ReadSource): Chain['formatters'] {
  return isPort(source) ? undefined : source.chain?.formatters
}

// viem's clients have a `batch` property too: the options of their own batching.
function isPort(source: ReadSource): source is Port {
  return 'batch' in source && typeof source.batch === 'function'
}

/**
 * Runs a read on the first port that answers it. A port that gives no answer, does not support the method or
 * asks for a pause is skipped. An error of a node about the read itself is final.
 */
export async function firstAnswer<result>(
  ports: readonly Port[],
  signal: AbortSignal | undefined,
  read: (port: Port) => Promise<result>,
): Promise<result> {
  let last: unknown
  for (const port of ports) {
    if (signal?.aborted) throw aborted('the read', 'notExecuted', signal)
    try {
      return await read(port)
    } catch (error) {
      if (signal?.aborted) throw aborted('the read', 'notExecuted', signal)
      if (!mayDifferElsewhere(error)) throw error
      last = error
    }
  }
  throw last
}

function mayDifferElsewhere(error: unknown): boolean {
  if (!isTxlaneError(error) || !('failure' in error)) return false
  const { failure, rpcCode } = error as unknown as RpcErrorContext
  if (failure !== 'rpc' || error.code === 'UNSUPPORTED') return true
  return rpcCode !== undefined && isBusy({ kind: 'rpc', code: rpcCode, message: error.details ?? '' })
}

/** The result of one call from the first port that has it. */
export function readOne<result>(
  source: ReadSource,
  { method, params }: RpcCall,
  { signal, timeoutMs }: ReadOptions,
  decode: (result: unknown) => result,
): Promise<result> {
  return firstAnswer(readPorts(source), signal, async (port) => {
    const reply = await call(port, method, params, { signal, timeoutMs })
    if (!reply.ok) throw rpcError(method, reply.failure)
    return decode(reply.result)
  })
}
