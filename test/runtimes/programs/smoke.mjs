import { createSender } from 'txlane'
import { createClient, defineChain, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

/** Sends five transactions to the chain at this URL; resolves with their statuses, separated by commas. */
export async function smoke(url, key) {
  const chain = defineChain({
    id: 31337,
    name: 'devnet',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    custom: { singleSequencer: true },
  })
  const account = privateKeyToAccount(key)
  const client = createClient({ account, chain, transport: http(url) })
  const sender = createSender({ client, coldStart: 'immediate' })
  const sent = await Promise.all(
    Array.from({ length: 5 }, () => sender.send({ to: account.address, value: 0n })),
  )
  const landed = await Promise.all(sent.map((tx) => tx.wait('sealed')))
  await sender.close()
  return landed.map(({ status }) => status).join()
}
