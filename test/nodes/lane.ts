import { createWalletClient, defineChain, type Hex, http, type LocalAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../src/clock.js'
import { createSender, memoryStore, type Sender, type Tx } from '../../src/index.js'
import { pause } from '../support/pause.js'
import type { RunningNode } from './startNode.js'

const FUNDS = `0x${(10n ** 20n).toString(16)}`
const TO = '0x00000000000000000000000000000000000000aa'

/** A new account with 100 ether from the node's own. */
export async function fundedAccount({ rpc }: RunningNode): Promise<LocalAccount> {
  const account = privateKeyToAccount(generatePrivateKey())
  const [from] = (await rpc.call('eth_accounts')) as Hex[]
  const hash = await rpc.call('eth_sendTransaction', { from, to: account.address, value: FUNDS })
  for (let tries = 0; tries < 100; tries++, await pause(100))
    if ((await rpc.call('eth_getTransactionReceipt', hash)) !== null) return account
  throw new Error('The node did not mine the transfer that pays the account.')
}

/** As a script that has just begun: a store of its own remembers nothing of an earlier run. */
export async function freshSender(node: RunningNode, url: string, account: LocalAccount): Promise<Sender> {
  const id = Number((await node.rpc.call('eth_chainId')) as Hex)
  const chain = defineChain({
    id,
    name: 'Local node',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  return createSender({
    client: createWalletClient({ account, chain, transport: http() }),
    store: memoryStore(),
  }) as unknown as Sender
}

/** The lines of the quick start. */
export async function quickStart(sender: Sender, limitMs: number): Promise<void> {
  await within(limitMs, 'ready()', sender.ready())
  const tx = await within(limitMs, 'send()', sender.send({ to: TO, value: 1n }))
  await within(limitMs, "wait('sealed')", tx.wait('sealed'))
  await within(limitMs, 'close()', sender.close())
}

/** That many transfers at once, each of another value. Resolves to how many were seen in a sealed block in time. */
export async function burst(sender: Sender, amount: number, limitMs: number): Promise<number> {
  const untilMs = systemClock.now() + limitMs
  const values = Array.from({ length: amount }, (_, index) => BigInt(index + 1))
  let sealed = 0
  const one = async (value: bigint) => {
    const tx: Tx = await sender.send({ to: TO, value, gas: 21_000n }, { until: 'queued' })
    await tx.wait('sealed')
    sealed++
  }
  const all = Promise.allSettled(values.map(one))
  await Promise.race([all, until(untilMs)])
  return sealed
}

async function until(atMs: number): Promise<void> {
  await pause(Math.max(0, atMs - systemClock.now()))
}

export async function within<t>(limitMs: number, what: string, promise: Promise<t>): Promise<t> {
  const late = pause(limitMs).then(() => {
    throw new Error(`${what} did not return within ${limitMs / 1_000} s`)
  })
  return Promise.race([promise, late])
}

type Block = { readonly transactions: readonly { from: Hex; nonce: Hex; value: Hex }[] }

/** What the blocks hold of the account: its nonces in order, and how often the most frequent value was sent. */
export async function landedOf({ rpc }: RunningNode, { address }: LocalAccount) {
  const head = Number((await rpc.call('eth_blockNumber')) as Hex)
  const calls = Array.from(
    { length: head + 1 },
    (_, number) => ['eth_getBlockByNumber', `0x${number.toString(16)}`, true] as const,
  )
  const blocks = (await rpc.all(calls)) as readonly Block[]
  const own = blocks.flatMap(({ transactions }) =>
    transactions.filter(({ from }) => from.toLowerCase() === address.toLowerCase()),
  )
  const dense = own.every(({ nonce }, index) => Number(nonce) === index)
  const paid = own.filter(({ value }) => value !== '0x0').map(({ value }) => value)
  return { dense, paid: paid.length, distinct: new Set(paid).size, noops: own.length - paid.length }
}
