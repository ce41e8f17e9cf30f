import { createSender, type Sender } from 'txlane'
import { type Address, type Chain, createClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import * as chains from 'viem/chains'
import { abi, bytecode } from './book.js'
import { observeFlashblocks } from './flashblocks.js'
import { prices } from './prices.js'
import { createQuoter } from './quoter.js'

const { env } = process
const chain = (Object.values(chains) as Chain[]).find(({ id }) => id === Number(env.CHAIN_ID ?? 8453))
if (!chain || !env.RPC_URL || !env.PRIVATE_KEY || (!env.BOOK && chain.id !== chains.anvil.id)) {
  console.error('RPC_URL and PRIVATE_KEY have to be set, and BOOK except on a local chain.')
  process.exit(2)
}

const report = (what: object) => console.log(JSON.stringify(what))
const clientOf = (url: string) => createClient({ chain, transport: http(url) })
const sender: Sender = createSender({
  account: privateKeyToAccount(env.PRIVATE_KEY as Hex),
  client: clientOf(env.RPC_URL),
  endpoints: env.RPC_URL_2 ? [{ client: clientOf(env.RPC_URL_2) }] : [],
  // Broadcast to every node: the builder of the next block must have the quote.
  broadcast: 'all',
})
sender.on('endpoint', ({ name, change }) => {
  if (change !== 'profile') report({ endpoint: name, change })
})

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())

await sender.ready()
const flashblocks = env.WS_URL ? await observeFlashblocks(sender, chain, env.WS_URL) : undefined
const book = (env.BOOK as Address | undefined) ?? (await deploy())
const quoter = createQuoter(sender, { book, staleMs: Number(env.STALE_MS ?? 1_500), report })

try {
  for await (const price of prices(Number(env.QUOTE_MS ?? 250), stopping.signal)) {
    if (price === undefined) await quoter.pull()
    else await quoter.quote(price)
  }
} finally {
  // No quote is left in any case.
  await quoter.pull()
  await sender.drain()
  await flashblocks?.stop()
  const unsealed = sender.inFlight().length
  report({ ...quoter.counts, flashblockTransactions: flashblocks?.seen ?? 0, unsealed })
  await sender.close()
}

async function deploy(): Promise<Address> {
  const tx = await sender.deployContract({ abi, bytecode, args: [] } as never)
  const { receipt } = await tx.wait('sealed')
  report({ book: receipt?.contractAddress })
  return receipt?.contractAddress as Address
}
