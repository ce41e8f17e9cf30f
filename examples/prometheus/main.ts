import { setTimeout as pause } from 'node:timers/promises'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { pino } from 'pino'
import { createSender } from 'txlane'
import { instrument } from 'txlane/opentelemetry'
import { type Chain, createWalletClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import * as chains from 'viem/chains'

const { RPC_URL, PRIVATE_KEY, CHAIN_ID = '8453', METRICS_PORT = '9464', EVERY_MS = '10000' } = process.env
const chain = (Object.values(chains) as Chain[]).find(({ id }) => id === Number(CHAIN_ID))
if (!RPC_URL || !PRIVATE_KEY || !chain) {
  console.error('RPC_URL and PRIVATE_KEY have to be set; CHAIN_ID has to be known.')
  process.exit(2)
}

const logger = pino()
const exporter = new PrometheusExporter({ port: Number(METRICS_PORT) })
const meterProvider = new MeterProvider({ readers: [exporter] })

const account = privateKeyToAccount(PRIVATE_KEY as Hex)
const sender = createSender({
  client: createWalletClient({ account, chain, transport: http(RPC_URL) }),
  logger,
})
// Attached before the first send: earlier events are not counted.
const off = instrument(sender, { meterProvider })

const stopping = new AbortController()
const { signal } = stopping
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort())

while (!signal.aborted) {
  try {
    const tx = await sender.send({ to: account.address, value: 1n })
    logger.info(tx.toJSON(), 'sent')
  } catch (error) {
    logger.error({ err: error }, 'not sent')
  }
  await pause(Number(EVERY_MS), undefined, { signal }).catch(() => {})
}

await sender.drain()
await sender.close()
off()
await meterProvider.shutdown()
