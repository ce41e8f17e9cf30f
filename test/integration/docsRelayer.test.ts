import { readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { cacheFolder } from '../../scripts/bundle.mjs'
import { accountKey } from '../../tools/devnet/accounts.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundleAll } from '../support/bundleChild.js'
import { EXAMPLE_TIMEOUT_MS, type ExampleProcess, startProgram } from '../support/exampleProcess.js'
import { freePort } from '../support/freePort.js'
import { pause } from '../support/pause.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { rpc } from './devnetSupport.js'

vi.setConfig({ testTimeout: EXAMPLE_TIMEOUT_MS })

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const to = '0x1111111111111111111111111111111111111111'
const TOKEN = 'secret'

let devnet: Devnet
let postgres: TestPostgres
let folder: string
let program: string

/** The program in docs/relayer.md, unchanged. */
beforeAll(async () => {
  folder = cacheFolder('txlane-docs-')
  ;[devnet, postgres] = await Promise.all([
    startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 3 }),
    startPostgres(),
  ])
  const guide = await readFile(join(ROOT, 'docs/relayer.md'), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(guide) ?? []
  expect(code.split('\n').length).toBeLessThanOrEqual(70)
  await writeFile(join(folder, 'relayer.ts'), code)
  const source = relative(ROOT, join(folder, 'relayer.ts'))
  await bundleAll([source], folder, {
    alias: {
      txlane: join(ROOT, 'src/index.ts'),
      'txlane/postgres': join(ROOT, 'src/store/postgres/index.ts'),
    },
  })
  program = join(folder, source.replace(/ts$/, 'mjs'))
})
afterAll(async () => {
  await Promise.all([devnet?.stop(), postgres?.stop()])
  await rm(folder, { recursive: true, force: true })
})

type Running = { readonly process: ExampleProcess; readonly url: string }

async function start(): Promise<Running> {
  const port = await freePort()
  const process = startProgram(program, {
    RPC_URL: devnet.url,
    DATABASE_URL: postgres.connectionString,
    KEYS: [0, 1, 2].map(accountKey).join(),
    TOKEN,
    PORT: `${port}`,
  })
  await process.line(/^ready on/)
  return { process, url: `http://127.0.0.1:${port}/transactions` }
}

const headers = { authorization: `Bearer ${TOKEN}` }

async function post(url: string, key: string, body: unknown = { to, value: '1' }): Promise<number> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const init = { method: 'POST', headers: { ...headers, 'idempotency-key': key }, body: text }
  return fetch(url, init).then(
    ({ status }) => status,
    () => 0,
  )
}

const stageOf = async (url: string, key: string) =>
  ((await (await fetch(`${url}/${key}`, { headers })).json()) as { stage: string }).stage

test('the relayer of the guide: one of two processes is killed, and 200 requests run once each', async () => {
  const [one, two] = [await start(), await start()]
  await using _one = one.process
  await using _two = two.process
  for (let number = 1; number <= 200; number++) {
    const key = `order-${number}`
    if ((await post(one.url, key)) !== 202) expect(await post(two.url, key)).toBe(202)
    if (number === 100) one.process.kill('SIGKILL')
  }
  for (let number = 1; number <= 200; number++)
    while (!['sealed', 'safe', 'finalized'].includes(await stageOf(two.url, `order-${number}`)))
      await pause(100)
  expect(Number(await rpc<string>(devnet.url, 'eth_getBalance', to, 'latest'))).toBe(200)
  two.process.kill('SIGTERM')
  expect(await two.process.ended).toMatchObject({ code: 0 })
})

test('the relayer of the guide: an invalid request is a 400, another body a 409, and an unknown caller a 401', async () => {
  const { process, url } = await start()
  await using _process = process
  expect(await post(url, 'once')).toBe(202)
  expect(await post(url, 'once', { to, value: '2' })).toBe(409)
  for (const body of ['{"to":', 'null', { to: '0x1' }, { to, value: 'x' }, { to, data: 'x' }])
    expect(await post(url, 'bad', body), JSON.stringify(body)).toBe(400)
  expect(await post(url, '')).toBe(400)
  expect((await fetch(`${url}/once`)).status).toBe(401)
  expect((await fetch(`${url}/nothing`, { headers })).status).toBe(404)
})
