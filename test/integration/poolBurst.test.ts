import { createPublicClient, type Hex, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { createSenderPool, type Tx } from '../../src/index.js'
import { findAnvil, startAnvil } from '../../tools/devnet/anvilProcess.js'
import { anvilChain } from '../support/anvil.js'
import { rpc } from './devnetSupport.js'

// Signing takes most of the time. The full size is TXLANE_BURST=10000.
const BURST = Number(process.env.TXLANE_BURST ?? 1_000)
const KEYS = 10
// anvil's own mnemonic.
const MNEMONIC = 'test test test test test test test test test test test junk'
const to = '0x1111111111111111111111111111111111111111'

type Block = { transactions: readonly { from: Hex; to: Hex; value: Hex; nonce: Hex }[] }

test(`a burst of ${BURST} over ${KEYS} keys: each is on the chain once, distributed, and no nonce is empty`, async () => {
  const node = await startAnvil(findAnvil(undefined), ['--block-time', '0.2', '--gas-limit', '300000000'])
  try {
    const accounts = Array.from({ length: KEYS }, (_, addressIndex) =>
      mnemonicToAccount(MNEMONIC, { addressIndex }),
    )
    const client = createPublicClient({ chain: anvilChain, transport: http(node.url, { retryCount: 0 }) })
    await using pool = createSenderPool({ client, accounts, lossDepth: 2, coldStart: 'immediate' })
    await pool.ready()
    const fees = { gas: 21_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }
    const sent: Promise<Tx>[] = []
    for (let marker = 1; marker <= BURST; marker++) {
      sent.push(pool.send({ to, value: BigInt(marker), ...fees }))
    }
    await Promise.all(sent)
    await pool.drain()
    const seen = await readBurst(node.url)
    expect(seen.map(({ value }) => Number(value)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: BURST }, (_, index) => index + 1),
    )
    for (const { address } of accounts) {
      const own = seen.filter(({ from }) => from === address.toLowerCase())
      expect(own.length).toBe(BURST / KEYS)
      expect(own.map(({ nonce }) => Number(nonce))).toEqual(own.map((_, index) => index))
    }
  } finally {
    await node.stop()
  }
})

/** Every transaction of the chain, in order, read from the blocks and not from the pool. */
async function readBurst(url: string): Promise<Block['transactions']> {
  const last = Number(await rpc<Hex>(url, 'eth_blockNumber'))
  const found: Block['transactions'][number][] = []
  for (let number = 0; number <= last; number++) {
    const block = await rpc<Block>(url, 'eth_getBlockByNumber', `0x${number.toString(16)}`, true)
    found.push(...block.transactions)
  }
  return found
}
