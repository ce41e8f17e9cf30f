import { Agent, request } from 'node:http'
import { TxlaneError } from '../../../src/errors/base.js'
import { redactForeign } from '../../../src/errors/redact.js'
import { fail, type RpcErrorObject, type RpcReply, type RpcRequest } from './rpcTypes.js'

/** The gateway's own connection to anvil: kept-alive connections, batches, no retries. */
export type AnvilRpc = {
  batch(calls: readonly RpcRequest[]): Promise<readonly RpcReply[]>
  /**
   * Makes one call whose failure is the devnet's own fault.
   * @throws TxlaneError `UNSUPPORTED` with anvil's message.
   */
  call(method: string, params?: readonly unknown[]): Promise<unknown>
  close(): void
}

const SOCKETS_MAX = 8
const GONE = -32603

export function createAnvilRpc(url: string): AnvilRpc {
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX })

  async function batch(calls: readonly RpcRequest[]): Promise<readonly RpcReply[]> {
    if (calls.length === 0) return []
    const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })))
    const answers = (await post(agent, url, body)) as {
      id: number
      result?: unknown
      error?: RpcErrorObject
    }[]
    const replies = new Array<RpcReply>(calls.length).fill(fail(GONE, 'anvil gave no answer to this call'))
    for (const { id, result, error } of answers) {
      replies[id] = error === undefined ? { result } : { error }
    }
    return replies
  }

  return {
    batch,
    async call(method, params = []) {
      const [reply] = await batch([{ method, params }])
      if (reply !== undefined && 'result' in reply) return reply.result
      throw new TxlaneError(`anvil refused ${method}: ${redactForeign(String(reply?.error.message))}`, {
        code: 'UNSUPPORTED',
        fate: 'notExecuted',
      })
    },
    close: () => agent.destroy(),
  }
}

function post(agent: Agent, url: string, body: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const outgoing = request(url, { method: 'POST', agent, headers }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString()))
        } catch (error) {
          reject(error)
        }
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
