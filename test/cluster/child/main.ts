import { createInterface } from 'node:readline'
import { createClient, http } from 'viem'
import { createSender, type Sender } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { createAccounts } from '../../../tools/devnet/accounts.js'
import { chainOf, openStore } from '../../sweep/opening.js'
import type { Command, ProcessOrder } from '../asks.js'
import { createReportingStore, report } from './report.js'
import { createUser } from './user.js'
import { watchRequests } from './watchedFetch.js'

// One of several processes on one store. It sends the requested transactions, from accounts that all
// processes share.

const POOL_MAX = 4

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const { value: first } = await lines.next()
const begun = process.cpuUsage()
await work(JSON.parse(String(first)) as ProcessOrder)
const { user, system } = process.cpuUsage(begun)
report({ report: 'done', cpuMs: Math.round((user + system) / 1_000) })
// Kept-alive connections would also keep the process running.
process.exit(0)

async function work(order: ProcessOrder): Promise<void> {
  const atMs = systemClock.wallNow
  const requests = watchRequests({
    stopping: () => report({ report: 'stops' }),
    notStopping: () => report({ report: 'has nothing to send' }),
    sends: ({ account, epoch }) => report({ report: 'sends', account, epoch, atMs: atMs() }),
  })
  const accounts = createAccounts(order.accounts)
  const store = createReportingStore({
    inner: await openStore(order.store, POOL_MAX),
    accounts: accounts.map(({ address }) => address.toLowerCase()),
    holds: requests.holds,
    journaled: requests.journaled,
  })
  const chain = chainOf(order)
  const senders = accounts.map((account, index) => {
    const client = createClient({ account, chain, transport: http(order.url, { retryCount: 0 }) })
    const sender = createSender({ client, store, lossDepth: 'child' }) as unknown as Sender
    sender.on('leaseLost', ({ epoch }) => report({ report: 'loses', account: index, epoch, atMs: atMs() }))
    for (const event of ['foreign', 'unresolved', 'deepReorg', 'gap'] as const)
      sender.on(event, () => report({ report: 'trouble', message: event }))
    sender.on('held', ({ reason }) => report({ report: 'trouble', message: `held: ${reason}` }))
    sender.on('error', ({ error }) => report({ report: 'trouble', message: `error: ${summaryOf(error)}` }))
    return sender
  })
  await Promise.all(senders.map((sender) => sender.ready()))
  report({ report: 'open' })

  const user = createUser(senders)
  for await (const line of { [Symbol.asyncIterator]: () => lines }) {
    const command = JSON.parse(line) as Command
    if (command.do === 'ask') for (const ask of command.asks) user.ask(ask)
    else if (command.do === 'stop in a request') requests.stopInNext(command.withinMs)
    else break
  }
  user.closing()
  await Promise.all(senders.map((sender) => sender.close()))
  await store.close()
}

function summaryOf(error: unknown): string {
  const { code, shortMessage, message } = (error ?? {}) as Record<string, unknown>
  return `${code ?? ''} ${shortMessage ?? message ?? error}`.split('\n')[0] ?? ''
}
