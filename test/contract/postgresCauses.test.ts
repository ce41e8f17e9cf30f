import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TxlaneError } from '../../src/errors/base.js'
import { storeFailure } from '../../src/store/postgres/failure.js'
import { postgresStore } from '../../src/store/postgres/index.js'
import { freePort } from '../support/freePort.js'
import { leaksOf } from '../support/leaks.js'
import { PASSWORD, startPostgres, type TestPostgres } from '../support/postgres.js'
import { newLane, rejection } from './postgresSamples.js'

// The first line of the error must name the place to check, and must not contain the password.

let server: TestPostgres

beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())

async function failure(change: (url: URL) => URL): Promise<TxlaneError> {
  const url = new URL(server.connectionString)
  change(url)
  const store = postgresStore({ connectionString: url.href, timeoutMs: 2_000 })
  try {
    return (await rejection(store.acquire(newLane(), 'holder', 1_000))) as TxlaneError
  } finally {
    await store.close()
  }
}

const WRONG = 'wr0ng-pass-w0rd'
const CREDENTIALS = 'PostgreSQL refuses the user or the password.'

it.each<[string, (url: URL) => URL, string, string]>([
  ['a wrong password', (url) => Object.assign(url, { password: WRONG }), CREDENTIALS, '28P01'],
  ['a user that does not exist', (url) => Object.assign(url, { username: 'nobody' }), CREDENTIALS, '28P01'],
  ['no password', (url) => Object.assign(url, { password: '' }), CREDENTIALS, 'password'],
  [
    'a database that does not exist',
    (url) => Object.assign(url, { pathname: '/none' }),
    'PostgreSQL does not have the database.',
    '3D000',
  ],
])('%s has a message of its own', async (_, change, sentence, said) => {
  const error = await failure(change)
  expect(error).toMatchObject({ code: 'STORE', fate: 'notExecuted', shortMessage: sentence })
  expect(error.details).toContain(said)
  expect(leaksOf([error, String(error), error.stack], [PASSWORD, WRONG])).toEqual([])
})

it('a port on which no process listens, and an unknown host, are unreachable', async () => {
  const port = await freePort()
  for (const change of [{ port: String(port) }, { hostname: 'nowhere.invalid' }]) {
    const error = await failure((url) => Object.assign(url, change))
    expect(error).toMatchObject({ code: 'STORE', shortMessage: 'PostgreSQL cannot be reached.' })
    expect(leaksOf([error, String(error), error.stack], [PASSWORD])).toEqual([])
  }
})

// Codes and messages of the server (PostgreSQL's appendix A) and of Node's sockets (libuv's error names).
it.each([
  ['28000', CREDENTIALS],
  ['57P03', 'PostgreSQL is starting or stopping.'],
  ['57P01', 'PostgreSQL is starting or stopping.'],
  ['53300', 'PostgreSQL has no free connection.'],
  ['42501', 'PostgreSQL denies the user a required permission.'],
  ['08006', 'PostgreSQL cannot be reached.'],
  ['ECONNREFUSED', 'PostgreSQL cannot be reached.'],
  ['ECONNRESET', 'PostgreSQL cannot be reached.'],
  ['ENOTFOUND', 'PostgreSQL cannot be reached.'],
  ['EAI_AGAIN', 'PostgreSQL cannot be reached.'],
  ['EHOSTUNREACH', 'PostgreSQL cannot be reached.'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'The connection to PostgreSQL cannot be encrypted.'],
  ['23505', 'PostgreSQL failed to execute a statement.'],
  ['EXTRA', 'PostgreSQL failed to execute a statement.'],
])('the code %s', (code, sentence) => {
  const error = Object.assign(new Error('said'), { code })
  expect(storeFailure({ error, unknown: false, secrets: [] }).shortMessage).toBe(sentence)
  const both = Object.assign(new Error(''), { errors: [error, error] })
  expect(storeFailure({ error: both, unknown: false, secrets: [] }).shortMessage).toBe(sentence)
})

it.each([
  ['timeout exceeded when trying to connect', 'PostgreSQL cannot be reached.'],
  ['Connection terminated unexpectedly', 'PostgreSQL cannot be reached.'],
  ['No answer within 2000 ms.', 'PostgreSQL cannot be reached.'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', CREDENTIALS],
  ['The server does not support SSL connections', 'The connection to PostgreSQL cannot be encrypted.'],
])('the error of the driver without a code: "%s"', (message, sentence) => {
  expect(storeFailure({ error: new Error(message), unknown: false, secrets: [] }).shortMessage).toBe(sentence)
  for (const odd of [undefined, null, 'text', {}, { code: 7 }])
    expect(storeFailure({ error: odd, unknown: false, secrets: [] }).code).toBe('STORE')
})
