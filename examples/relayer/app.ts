import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import type { SenderPool } from 'txlane'
import type { Callers } from './callers.js'
import { answerTo } from './errors.js'
import { schemas } from './schemas.js'
import { transactions } from './transactions.js'

/** Calldata of 128 KiB, the maximum of most nodes, as text. */
const BODY_BYTES_MAX = 300_000
/** A request that is incomplete after this time is dropped. */
const REQUEST_MS = 15_000

export function createApp(): FastifyInstance {
  return Fastify({
    logger: true,
    forceCloseConnections: true,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_MS,
    // Strict validation: unknown fields are rejected, and numbers are not converted to text.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
  })
}

type Service = {
  readonly pool: SenderPool
  readonly callers: Callers
  /** Whether the service has stopped accepting new work. */
  readonly isStopping: () => boolean
}

/** Serves the callers' routes, their description, and the probes. */
export async function serve(app: FastifyInstance, { pool, callers, isStopping }: Service): Promise<void> {
  app.setErrorHandler((error, request, reply) => {
    const { status, body } = answerTo(error)
    if (status >= 500) request.log.error({ err: error })
    if (status === 503) reply.header('retry-after', '1')
    return reply.code(status).send(body)
  })
  for (const schema of schemas) app.addSchema(schema)
  await app.register(swagger, {
    openapi: {
      info: { title: 'Relayer', version: '1', description: 'Sends transactions, each once.' },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
      security: [{ key: [] }],
    },
    refResolver: { buildLocalReference: ({ $id }) => String($id) },
  })
  await app.register(transactions(pool, callers), { prefix: '/v1/transactions' })

  const hidden = { schema: { hide: true } }
  app.get('/openapi.json', hidden, async () => app.swagger())
  // Neither probe queries a node or the database. A failing liveness probe means that a restart helps; a
  // failing readiness probe means that calls should go to another process.
  app.get('/healthz', hidden, async (_, reply) => {
    const { live } = pool.health()
    return reply.code(live ? 200 : 503).send({ live })
  })
  app.get('/readyz', hidden, async (_, reply) => {
    const { ready, reasons } = pool.health()
    return reply.code(ready && !isStopping() ? 200 : 503).send({ ready, reasons })
  })
}
