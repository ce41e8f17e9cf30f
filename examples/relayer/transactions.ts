import rateLimit from '@fastify/rate-limit'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { isTxlaneError, type SenderPool, type Stage, type Tx, type TxRequest } from 'txlane'
import type { Hex } from 'viem'
import type { Caller, Callers } from './callers.js'
import { type Call, cancel, list, look, send } from './schemas.js'

const CANCEL_MS = 10_000
const UNKNOWN = { error: 'There is no transaction with this key.' }

/** The routes for callers. Each caller only sees its own transactions. */
export function transactions(pool: SenderPool, callers: Callers): FastifyPluginAsync {
  const callerOf = (request: FastifyRequest) => request.getDecorator<Caller>('caller')
  const find = (request: FastifyRequest, key: string) => pool.get(`${callerOf(request).name}/${key}`)

  return async (app) => {
    app.decorateRequest('caller', null)
    app.addHook('onRequest', async (request, reply) => {
      const caller = callers.find(request.headers.authorization)
      if (caller === undefined) return reply.code(401).send({ error: 'A bearer token is needed.' })
      request.setDecorator('caller', caller)
    })
    await app.register(rateLimit, {
      timeWindow: 1_000,
      keyGenerator: (request) => callerOf(request).name,
      max: (request) => callerOf(request).requestsPerSecond,
      errorResponseBuilder: (_, { statusCode }) =>
        Object.assign(new Error('Too many requests in one second.'), { statusCode }),
    })

    app.post<{ Body: Call; Querystring: { again?: string } }>(
      '',
      { schema: send },
      async (request, reply) => {
        const caller = callerOf(request)
        const refusal = caller.refuses(request.body)
        if (refusal !== undefined) return reply.code(403).send({ error: refusal })
        const key = String(request.headers['idempotency-key'])
        const { deadline } = request.body
        const expires = deadline === undefined ? undefined : { atMs: Date.parse(deadline) }
        if (expires && expires.atMs <= Date.now())
          return reply.code(400).send({ error: `"deadline": ${deadline} has passed.` })
        const tx = await pool.send(transactionOf(request.body), {
          id: `${caller.name}/${key}`,
          group: caller.name,
          until: 'queued',
          again: request.query.again === 'true',
          expires,
        })
        return reply.code(202).header('location', `/v1/transactions/${key}`).send(tx.toJSON())
      },
    )

    app.get<{ Querystring: { cursor?: string; stage?: Stage; limit?: string } }>(
      '',
      { schema: list },
      async (request) => {
        const { cursor, stage, limit = '100' } = request.query
        // Transactions of every account, including accounts whose keys are gone.
        const group = callerOf(request).name
        return pool.list({ account: 'any', group, cursor, stage, limit: Number(limit) })
      },
    )

    app.get<{ Params: { key: string } }>('/:key', { schema: look }, async (request, reply) => {
      const tx = await find(request, request.params.key)
      return tx ? tx.toJSON() : reply.code(404).send(UNKNOWN)
    })

    app.post<{ Params: { key: string } }>('/:key/cancel', { schema: cancel }, async (request, reply) => {
      const tx = await find(request, request.params.key)
      return tx ? reply.code(await cancelled(tx)).send(tx.toJSON()) : reply.code(404).send(UNKNOWN)
    })
  }
}

function transactionOf({ to, data, value, gas }: Call): TxRequest {
  return {
    to: to as Hex,
    ...(data === undefined ? {} : { data: data as Hex }),
    ...(value === undefined ? {} : { value: BigInt(value) }),
    ...(gas === undefined ? {} : { gas: BigInt(gas) }),
  }
}

/** Returns the status for the result of the cancel. */
async function cancelled(tx: Tx): Promise<number> {
  try {
    const { result } = await tx.cancel({ timeoutMs: CANCEL_MS })
    return result === 'tooLate' ? 409 : 200
  } catch (error) {
    if (isTxlaneError(error) && error.code === 'WAIT_TIMEOUT') return 202
    throw error
  }
}
