import { createWalletClient, type Hex, http, pad } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  createSender,
  createSenderPool,
  type Landed,
  type Sender,
  type Tx,
  type TxRequest,
} from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { rpc } from './devnetSupport.js'

let devnet: Devnet
const opened: { close(): Promise<void> }[] = []
let nextAccount = 0

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, accounts: 20 })
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
})
afterAll(() => devnet.stop())

const to = '0x1111111111111111111111111111111111111111'

/**
 * A contract. Called with a word it stores it at slot 0: the approval. Called without data it reverts if
 * slot 0 is empty: the swap.
 * calldatasize iszero jumpi(10) sstore(0, calldataload(0)) stop; 10: sload(0) iszero jumpi(18) stop; 18:
 * revert(0, 0)
 */
const DEPLOY: Hex = '0x6016600a5f3960165ff33615600a575f355f55005b5f5415601257005b5f5ffd'

/** The contract, and a sender that has sent before, so that it knows that its endpoint pre-confirms. */
async function warm(on = devnet, sealed: (tx: Tx) => Promise<Landed> = (tx) => tx.wait('sealed')) {
  const account = on.accounts[nextAccount++]!
  const client = createWalletClient({
    account,
    chain: on.chain,
    transport: http(undefined, { retryCount: 0 }),
  })
  const sender = createSender({ client, lossDepth: 'child' }) as unknown as Sender
  opened.push(sender)
  const deployed = await sender.send({ data: DEPLOY, gas: 200_000n } as TxRequest)
  const { receipt } = await sealed(deployed)
  return { sender, contract: (receipt as { contractAddress: Hex }).contractAddress }
}

const approve = (contract: Hex) => ({ to: contract, data: pad('0x2a'), gas: 100_000n }) as TxRequest
const swap = (contract: Hex) => ({ to: contract, gas: 100_000n }) as TxRequest

test('approve, then swap: the swap is in the very next flashblock, before either is sealed', async () => {
  // Flashblocks are made on request: a swap sent between two of them was sent as soon as the first showed the
  // approval.
  await using stepped = await startDevnet({ mining: 'manual', flashblockMs: 200, blockTimeMs: 2_000 })
  const { sender, contract } = await warm(stepped, async (tx) => {
    await stepped.stepFlashblock()
    await tx.wait('preconfirmed')
    await stepped.seal()
    return tx.wait('sealed')
  })
  const before = await rpc<Hex>(stepped.url, 'eth_blockNumber')
  const approved = await sender.send(approve(contract))
  const swapping = sender.send(swap(contract), { after: [approved] })
  await stepped.stepFlashblock()
  const swapped = await swapping
  expect(approved.stage).toBe('preconfirmed')
  await stepped.stepFlashblock()
  expect(await swapped.wait('preconfirmed')).toMatchObject({ status: 'success' })
  expect(await rpc<Hex>(stepped.url, 'eth_blockNumber')).toBe(before)
  await stepped.seal()
  expect(await swapped.wait('sealed')).toMatchObject({ status: 'success' })
})

test('a sequence without given gas: the swap is estimated on the state after the approval', async () => {
  const { sender, contract } = await warm()
  const { gas: _, ...approval } = approve(contract) as TxRequest & { gas: bigint }
  const [approved, swapped, last] = await sender.sendSequence([
    approval as TxRequest,
    { to: contract } as TxRequest,
    { to, value: 1n } as TxRequest,
  ])
  const landed = await Promise.all([approved, swapped, last].map((tx) => tx!.wait('sealed')))
  expect(landed.map(({ status }) => status)).toEqual(['success', 'success', 'success'])
  expect(new Set(landed.map(({ nonce }) => nonce)).size).toBe(3)
  expect(landed.map(({ nonce }) => nonce)).toEqual(
    [...landed.map(({ nonce }) => nonce)].sort((a, b) => a - b),
  )
})

test('a predecessor in another account of the pool, by its id', async () => {
  const { contract } = await warm()
  const accounts = devnet.accounts.slice(nextAccount, nextAccount + 2)
  nextAccount += 2
  const client = createWalletClient({ chain: devnet.chain, transport: http() })
  const pool = createSenderPool({ client, accounts, lossDepth: 'child' })
  opened.push(pool)
  const [one, two] = accounts as unknown as [{ address: Hex }, { address: Hex }]
  const sent = [
    pool.send({ ...approve(contract), account: one.address } as never, { id: 'approve' }),
    pool.send({ ...swap(contract), account: two.address } as never, { id: 'swap', after: ['approve'] }),
  ]
  const [, swapped] = await Promise.all(sent)
  expect(await swapped!.wait('sealed')).toMatchObject({ status: 'success' })
  // By id alone, in the other account's own sender.
  const again = await pool.senders[1]!.send(swap(contract) as never, { after: ['approve'] })
  expect(await again.wait('sealed')).toMatchObject({ status: 'success' })
})
