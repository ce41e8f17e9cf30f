import { setTimeout as pause } from 'node:timers/promises'
import { createSenderPool, isTxlaneError } from 'txlane'
import { createOutbox } from 'txlane/outbox'
import { postgresStore } from 'txlane/postgres'
import { type Accounts, createAccounts } from './accounts.js'
import { createApp, serve } from './app.js'
import { type Callers, readCallers } from './callers.js'
import { type Config, readConfig } from './config.js'
import { startMetrics } from './metrics.js'

const { config, callers, accounts } = start()
const app = createApp()
const store = postgresStore(config.database)
const pool = createSenderPool({
  client: config.client,
  endpoints: config.endpoints,
  accounts: [...accounts.active, ...accounts.retired],
  store,
  groups: callers.groups,
  treasury: config.treasury,
  logger: app.log,
})
pool.on('error', ({ error }) => app.log.error({ err: error }, 'in the background'))
pool.on('unresolved', ({ tx, nonce }) => app.log.error({ ...tx?.toJSON(), nonce }, 'unresolved'))

const changeAccounts = createAccounts(pool, accounts, app.log)

// Serves all callers, regardless of the process that sent a transaction. It also reads the receipts for
// callers without a webhook, so that their records have a status.
const outbox = createOutbox({
  store,
  name: 'webhooks',
  chainId: config.chain.id,
  stages: ['settled', 'failed', 'cancelled'],
  receipts: pool,
  onStage: (delivery, context) => callers.named(delivery.tx.group)?.deliver?.(delivery, context),
  logger: app.log,
})

let isStopping = false
await serve(app, { pool, callers, isStopping: () => isStopping })
const stopMetrics = startMetrics(app, { pool, outbox, host: config.host, port: config.metricsPort })

async function stop(): Promise<void> {
  isStopping = true
  // Waits until load balancers have seen that the process is not ready.
  await pause(config.stopDelayMs)
  // First the entry is closed, then the parts behind it.
  await app.close()
  await outbox.close()
  await pool.close()
  await stopMetrics()
  await store.close()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())

process.on('SIGHUP', () => {
  try {
    callers.reload()
    changeAccounts(config.accounts())
  } catch (error) {
    app.log.error({ err: error }, 'reload failed: the previous configuration stays')
  }
})

// Callers can query earlier transactions even while no node answers.
await app.listen({ host: config.host, port: config.port })
// Transactions of an earlier process are sent now, not at the first call. Each try takes up to half a minute.
for (let isOpen = false; !isOpen && !isStopping; ) {
  try {
    await Promise.all([pool.ready(), outbox.ready()])
    isOpen = true
  } catch (error) {
    app.log.error({ err: error }, 'not ready')
    if (isTxlaneError(error) && ['UNREACHABLE', 'STORE', 'CLOSED'].includes(error.code)) continue
    // A wrong chain or invalid options are permanent errors.
    process.exitCode = 1
    await stop()
  }
}

/** An invalid environment or file ends the process, with one line of output. */
function start(): { config: Config; callers: Callers; accounts: Accounts } {
  try {
    const config = readConfig(process.env)
    return { config, callers: readCallers(config.callersFile), accounts: config.accounts() }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(2)
  }
}
