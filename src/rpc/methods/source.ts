import { isTxlaneError } from '../../errors/base.js'
import type { Clock } from '../../platform/clock.js'
import { aborted, isRateLimit, type RpcErrorContext, rpcError } from '../errors.js'
import { limitBatches } from '../limitBatches.js'
import { call, type Port, type RpcCall } from '../port.js'
import { type AnyClient, clientPorts } from '../transports/fromClient.js'
import { fetchFnOf } from './fetchFns.js'

/** Where to read: a viem client, whose transport is taken apart, or a port. */
export type ReadSource = AnyClient | Port

/** What every read accepts beside its own parameters. */
export type ReadOptions = {
  /** Milliseconds until an endpoint that does not answer counts as failed. @default the transport's, 10,000 */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const portsBySource = new WeakMap<object, readonly Port[]>()

/** The ports to read from, in order, made once for each source. */
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

// viem's clients have a `batch` property too: the options of its own batching.
function isPort(source: ReadSource): source is Port {
  return 'batch' in source && typeof source.batch === 'function'
}

/**
 * Runs a read on the first port that has an answer to it. A port that says nothing, does not offer the method or
 * asks to be left alone is passed over; what a node says of the read itself stands.
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
  return rpcCode !== undefined && isRateLimit(rpcCode, error.details ?? '')
}

/** One call's result from the first port that has it. */
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
