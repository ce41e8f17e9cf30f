import { createWalletClient, encodeErrorResult, type Hex, http, parseAbi, publicActions } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSender, laneActions, type Sender } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { GWEI, rpc, sign } from './devnetSupport.js'

// Stores its argument at slot 0, and reverts for 0. It ignores its constructor's arguments.
const STORING: Hex = '0x600f8060095f395ff36004358015600b575f55005b5f5ffd'
const abi = parseAbi(['function set(uint256 value)', 'constructor(uint256 value)'])

let devnet: Devnet
let sender: Sender
let client: ReturnType<typeof extended>

function extended() {
  return createWalletClient({
    account: devnet.accounts[0]!,
    chain: devnet.chain,
    transport: http(undefined, { retryCount: 0 }),
    pollingInterval: 50,
  })
    .extend(publicActions)
    .extend(laneActions(sender))
}

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
  sender = createSender({ client: devnet.client(), lossDepth: 'child' })
  client = extended()
})
afterAll(async () => {
  await sender.close()
  await devnet.stop()
})

async function deployed() {
  const hash = await client.deployContract({ abi, bytecode: STORING, args: [1n] })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  if (!contractAddress) throw new Error('nothing was deployed')
  return contractAddress
}

test('a transaction that viem code sends goes through the lane', async () => {
  const address = await deployed()
  const hash = await client.writeContract({ address, abi, functionName: 'set', args: [42n] })
  const receipt = await client.waitForTransactionReceipt({ hash })
  expect(receipt).toMatchObject({ status: 'success', transactionHash: hash })
  expect(Number(await client.getStorageAt({ address, slot: '0x0' }))).toBe(42)
  const sent = await client.sendTransaction({ to: address, data: '0x00000000', gas: 50_000n })
  for (const one of [hash, sent]) expect(await sender.get({ hash: one })).toBeDefined()
  expect((await sender.get({ hash }))?.nonce).toBe(1)
})

test('the Sync forms resolve with the first receipt, whose block has a hash once it is sealed', async () => {
  const address = await deployed()
  const set = await client.writeContractSync({ address, abi, functionName: 'set', args: [7n] })
  expect(set.status).toBe('success')
  const { blockHash } = await client.waitForTransactionReceipt({ hash: set.transactionHash })
  expect([null, blockHash]).toContain(set.blockHash)
  expect((await client.getBlock({ blockHash })).transactions).toContain(set.transactionHash)
  const transfer = await client.sendTransactionSync({ to: address, data: '0x', gas: 50_000n })
  expect(transfer.status).toBe('reverted')
  await expect(
    client.sendTransactionSync({ to: address, data: '0x', gas: 50_000n, throwOnReceiptRevert: true }),
  ).rejects.toMatchObject({ code: 'REVERTED', fate: 'executed' })
})

// Reverts with its calldata.
const ECHOING: Hex = '0x600a8060095f395ff3365f5f37365ffd'

test('the revert data of a real contract that reverted in its block is in the record and in the error', async () => {
  const deployment = await sender.send({ data: ECHOING, gas: 200_000n })
  const { receipt } = await deployment.wait('sealed')
  const to = receipt.contractAddress ?? undefined
  const text = parseAbi(['error Error(string)'])
  const data = encodeErrorResult({ abi: text, args: ['sold out'] })
  const tx = await sender.send({ to, data, gas: 100_000n })
  await expect(tx.wait('sealed', { throwOnRevert: true })).rejects.toMatchObject({
    code: 'REVERTED',
    fate: 'executed',
    cause: { data },
  })
  expect(tx.toJSON().error).toMatchObject({ code: 'REVERTED', reason: 'sold out', data })
})

test('a transaction that was bumped is found under its first hash', async () => {
  const account = devnet.accounts[1]!
  const own = createSender({
    client: devnet.client(),
    account,
    lossDepth: 'child',
    limits: { stuckAfterMs: 100 },
  })
  const lane = createWalletClient({ account, chain: devnet.chain, transport: http() }).extend(
    laneActions(own),
  )
  // Below the base fee: it stays in the pool until it is bumped.
  const hash = await lane.sendTransaction({ to: account.address, gas: 21_000n, maxFeePerGas: GWEI / 100n })
  // viem would search for the replacement transaction by transaction; the lane knows it.
  const looks = () => devnet.stats.byMethod.eth_getTransactionByHash ?? 0
  const before = looks()
  const receipt = await lane.waitForTransactionReceipt({ hash })
  expect(looks()).toBe(before)
  expect(receipt.status).toBe('success')
  expect(receipt.transactionHash).not.toBe(hash)
  await own.close()
})

test('hashes that the lane does not know are left to viem', async () => {
  const account = devnet.accounts[2]!
  const raw = await sign(devnet, account, 0)
  const hash = await rpc<Hex>(devnet.url, 'eth_sendRawTransaction', raw)
  expect(await client.waitForTransactionReceipt({ hash })).toMatchObject({ transactionHash: hash })
  const sent = await client.sendTransaction({ to: account.address, gas: 21_000n })
  const receipt = await client.waitForTransactionReceipt({ hash: sent, confirmations: 2 })
  expect(await client.getBlockNumber({ cacheTime: 0 })).toBeGreaterThan(receipt.blockNumber)
})

test('a revert found before sending is decoded as viem does, and uses no nonce', async () => {
  const address = await deployed()
  const { cursor } = await sender.snapshot()
  await expect(client.writeContract({ address, abi, functionName: 'set', args: [0n] })).rejects.toMatchObject(
    {
      code: 'PREPARE_REVERTED',
      fate: 'notExecuted',
      cause: { name: 'ContractFunctionExecutionError' },
    },
  )
  expect((await sender.snapshot()).cursor).toBe(cursor)
})

test('a nonce, another account and another chain are refused', async () => {
  const to = devnet.accounts[3]!.address
  const send = (fields: object) => client.sendTransaction({ to, ...fields } as never)
  await expect(send({ nonce: 1 })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(send({ account: devnet.accounts[3] })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(send({ chain: { ...devnet.chain, id: 1 } })).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' })
  await expect(send({ chain: null, gas: 21_000n })).resolves.toMatch(/^0x/)
})
