import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { DEVNET_KEY, EXAMPLE_TIMEOUT_MS, startExample } from '../support/exampleProcess.js'
import { freePort } from '../support/freePort.js'

vi.setConfig({ testTimeout: EXAMPLE_TIMEOUT_MS })

let devnet: Devnet

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
})
afterAll(() => devnet.stop())

test('Prometheus reads transactions by stage, their durations and the gauges', async () => {
  const port = await freePort()
  await using example = startExample('prometheus/main.ts', {
    RPC_URL: devnet.url,
    CHAIN_ID: String(devnet.chain.id),
    PRIVATE_KEY: DEVNET_KEY,
    METRICS_PORT: String(port),
    EVERY_MS: '100',
  })
  // pino's line, with the transaction's fields.
  await example.line(/"id":"[^"]+".*"msg":"sent"/)
  const sealed = /^txlane_transactions_total\{(?=.*txlane_stage="sealed").*\} [1-9]/m
  let text = ''
  while (!sealed.test(text)) text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  expect(text).toMatch(/^txlane_transaction_time_bucket\{.*txlane_stage="sealed".*le="\+Inf".*\} [1-9]/m)
  expect(text).toMatch(/^txlane_in_flight\{.*\} \d/m)
  expect(text).toContain('# TYPE txlane_queued gauge')
  expect(text).not.toMatch(/txlane_transaction_id|0x[0-9a-f]{64}/)
  example.kill('SIGTERM')
  const { code, err } = await example.ended
  expect(code, err).toBe(0)
})
