import type { BatchOptions, Port, RpcCall, RpcReply } from '../port.js'

/** viem's `methods` option of a transport. */
export type MethodFilter = {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/** Whether viem's transport would let the method through. */
export function mayCall(filter: MethodFilter | undefined, method: string): boolean {
  if (filter?.exclude?.includes(method)) return false
  return filter?.include?.includes(method) ?? true
}

/** The port with viem's filter in front: a method that it excludes is answered here, as unsupported. */
export function withMethods(port: Port, filter: MethodFilter | undefined): Port {
  if (filter?.include === undefined && filter?.exclude === undefined) return port

  async function batch(calls: readonly RpcCall[], options?: BatchOptions): Promise<readonly RpcReply[]> {
    const allowed = calls.filter(({ method }) => mayCall(filter, method))
    const replies = allowed.length === 0 ? [] : await port.batch(allowed, options)
    let next = 0
    return calls.map((each) => (mayCall(filter, each.method) ? replies[next++]! : excluded(each.method)))
  }

  return {
    get name() {
      return port.name
    },
    kind: port.kind,
    stats: port.stats,
    batch,
    close: () => port.close(),
  }
}

function excluded(method: string): RpcReply {
  // The code with which viem's own filter throws (MethodNotSupportedRpcError).
  const message = `the method ${method} is excluded by the transport's "methods" option`
  return { ok: false, failure: { kind: 'rpc', code: -32004, message } }
}
