import Fastify from 'fastify'
import { createSenderPool, isTxlaneError } from 'txlane'
import { postgresStore } from 'txlane/postgres'
import { type Chain, createPublicClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import * as chains from 'viem/chains'
import { callersOf } from './callers.js'
import { answerTo } from './errors.js'

const { env } = process
const chain = (Object.values(chains) as Chain[]).find(({ id }) => id === Number(env.CHAIN_ID ?? 8453))
const keys = env.PRIVATE_KEYS ?? env.PRIVATE_KEY
if (!chain || !keys || !env.RPC_URL || !env.DATABASE_URL || !env.API_KEYS) {
  console.error('RPC_URL, PRIVATE_KEYS, DATABASE_URL and API_KEYS have to be set; CHAIN_ID has to be known.')
  process.exit(2)
}

const callerOf = callersOf(env.API_KEYS)
const app = Fastify({
  logger: true,
  forceCloseConnections: true,
  // A body is what was meant or nothing: no field is dropped, and no number made into a text.
  ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
})
const store = postgresStore({ connectionString: env.DATABASE_URL })
const pool = createSenderPool({
  client: createPublicClient({ chain, transport: http(env.RPC_URL) }),
  accounts: keys.split(',').map((key) => privateKeyToAccount(key.trim() as Hex)),
  store,
  logger: app.log,
})
pool.on('error', ({ error }) => app.log.error({ err: error }, 'in the background'))
pool.on('unresolved', ({ tx, nonce }) => app.log.error({ ...tx?.toJSON(), nonce }, 'unresolved'))

type Call = { to: Hex; data?: Hex; value?: string; gas?: string }
const number = { type: 'string', pattern: '^[0-9]{1,78}$' }
const hex = { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$' }
const call = {
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: {
    to: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
    data: hex,
    value: number,
    gas: number,
  },
}

app.decorateRequest('caller', '')
app.addHook('onRequest', async (request, reply) => {
  if (request.url === '/healthz' || request.url === '/readyz') return
  const caller = callerOf(request.headers.authorization)
  if (caller === undefined) return reply.code(401).send({ error: 'a bearer token is needed' })
  request.setDecorator('caller', caller)
})
app.setErrorHandler((error, request, reply) => {
  const { status, body } = answerTo(error)
  if (status >= 500) request.log.error({ err: error })
  if (status === 503) reply.header('retry-after', '1')
  return reply.code(status).send(body)
})

app.post<{ Body: Call }>('/v1/transactions', { schema: { body: call } }, async (request, reply) => {
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string' || !/^[\w.:-]{1,128}$/.test(key))
    return reply.code(400).send({ error: 'an idempotency-key header is needed' })
  const { to, data, value, gas } = request.body
  const transaction = {
    to,
    ...(data === undefined ? {} : { data }),
    ...(value === undefined ? {} : { value: BigInt(value) }),
    ...(gas === undefined ? {} : { gas: BigInt(gas) }),
  }
  const caller = request.getDecorator<string>('caller')
  const tx = await pool.send(transaction, { id: `${caller}/${key}`, group: caller, until: 'queued' })
  return reply.code(202).header('location', `/v1/transactions/${key}`).send(tx.toJSON())
})

app.get<{ Params: { key: string } }>('/v1/transactions/:key', async (request, reply) => {
  const tx = await pool.get(`${request.getDecorator<string>('caller')}/${request.params.key}`)
  return tx ? tx.toJSON() : reply.code(404).send({ error: 'not known' })
})

// A caller's own, newest first, of whatever account sent them.
app.get<{ Querystring: { cursor?: string } }>('/v1/transactions', async (request) =>
  pool.list({ group: request.getDecorator<string>('caller'), cursor: request.query.cursor }),
)

// Restart it; send it no calls for now. Neither asks a node or the database.
app.get('/healthz', async (_, reply) => {
  const { live } = pool.health()
  return reply.code(live ? 200 : 503).send({ live })
})
app.get('/readyz', async (_, reply) => {
  const { ready, reasons } = pool.health()
  return reply.code(ready ? 200 : 503).send({ ready, reasons })
})

let isStopping = false

async function stop(): Promise<void> {
  isStopping = true
  // First the door, then what came in by it.
  await app.close()
  await pool.close()
  await store.close()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())

// What was sent can be asked for also while no node answers.
await app.listen({ host: env.HOST ?? '127.0.0.1', port: Number(env.PORT ?? 8000) })
// What an earlier life left is sent now, not at the first call. Each try takes up to half a minute.
for (let isOpen = false; !isOpen && !isStopping; ) {
  isOpen = await pool.ready().then(
    () => true,
    (error) => {
      // Another chain, or options that cannot be, are nothing that passes.
      if (!isTxlaneError(error) || !['UNREACHABLE', 'STORE', 'CLOSED'].includes(error.code)) throw error
      app.log.error({ err: error }, 'not ready')
      return false
    },
  )
}
