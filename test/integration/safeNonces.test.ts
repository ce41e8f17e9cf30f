import { type Address, encodeFunctionData, parseAbi, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { safeNonce, storageNonce } from '../../src/index.js'
import {
  artifact,
  type ContractWorld,
  type NonceHolder,
  noting,
  runBurst,
  runForeign,
  runRevertedCarrier,
  startContractWorld,
} from './contractNonces.js'

const SAFE = '@safe-global/safe-smart-account/build/artifacts/contracts'
const abi = parseAbi([
  'function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)',
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)',
  'function nonce() view returns (uint256)',
  'function getTransactionHash(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, uint256 nonce) view returns (bytes32)',
  'event ExecutionSuccess(bytes32 indexed txHash, uint256 payment)',
  'event ExecutionFailure(bytes32 indexed txHash, uint256 payment)',
])
const factoryAbi = parseAbi([
  'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address proxy)',
])
const SAFE_TX = {
  SafeTx: [
    ...(['to address', 'value uint256', 'data bytes', 'operation uint8', 'safeTxGas uint256'] as const),
    ...(['baseGas uint256', 'gasPrice uint256', 'gasToken address', 'refundReceiver address'] as const),
    'nonce uint256' as const,
  ].map((field) => ({ name: field.split(' ')[0]!, type: field.split(' ')[1]! })),
}

let world: ContractWorld
let singleton: Address
let factory: Address
let salt = 0n

beforeAll(async () => {
  world = await startContractWorld()
  singleton = await world.deploy(artifact(`${SAFE}/Safe.sol/Safe`))
  factory = await world.deploy(artifact(`${SAFE}/proxies/SafeProxyFactory.sol/SafeProxyFactory`))
})
afterEach(() => world.closeAll())
afterAll(() => world.devnet.stop())

/** A Safe behind its proxy, with one owner. */
async function newSafe(): Promise<NonceHolder & { safe: Address }> {
  const { client, devnet, notes } = world
  const owner = devnet.accounts[5]!
  const initializer = encodeFunctionData({
    abi,
    functionName: 'setup',
    args: [[owner.address], 1n, zeroAddress, '0x', zeroAddress, zeroAddress, 0n, zeroAddress],
  })
  const { request, result: safe } = await client.simulateContract({
    address: factory,
    abi: factoryAbi,
    functionName: 'createProxyWithNonce',
    args: [singleton, initializer, salt++],
  })
  await world.done(client.writeContract(request))
  return {
    safe,
    source: safeNonce({ safe }),
    nonce: () => client.readContract({ address: safe, abi, functionName: 'nonce' }),
    async sign(nonce, id, { reverts = false } = {}) {
      // Without gas set aside (safeTxGas 0), a reverting inner call reverts the carrier too, and no nonce is
      // used (GS013).
      const tx = {
        to: notes,
        value: 0n,
        data: noting(id, reverts),
        operation: 0,
        safeTxGas: 60_000n,
      } as const
      const refund = {
        baseGas: 0n,
        gasPrice: 0n,
        gasToken: zeroAddress,
        refundReceiver: zeroAddress,
      } as const
      const signature = await owner.signTypedData({
        domain: { chainId: devnet.chain.id, verifyingContract: safe },
        types: SAFE_TX,
        primaryType: 'SafeTx',
        message: { ...tx, ...refund, nonce },
      })
      const args = [
        tx.to,
        tx.value,
        tx.data,
        tx.operation,
        tx.safeTxGas,
        0n,
        0n,
        zeroAddress,
        zeroAddress,
      ] as const
      const data = encodeFunctionData({ abi, functionName: 'execTransaction', args: [...args, signature] })
      return { to: safe, data, gas: 250_000n }
    },
  }
}

test('a hundred concurrent Safe transactions land in order, each once, including failing ones', async () => {
  await runBurst(world, await newSafe(), 1_000n)
})

test('a reverted carrier frees no nonce of a Safe: a stranger may submit the same payload', async () => {
  const safe = await newSafe()
  await runRevertedCarrier(world, safe, (carrier) => ({ ...carrier, gas: 45_000n }), 2_000n)
})

test('the owner of a nonce of a Safe that a stranger used is notified', async () => {
  await runForeign(world, await newSafe(), 3_000n)
})

test('the hash in the event of the Safe shows which payload used a nonce', async () => {
  const holder = await newSafe()
  const { client, notes } = world
  const carrier = await holder.sign(0n, 4_000n, { reverts: true })
  const tx = await world.lane(1).send(carrier)
  await tx.wait('sealed')
  const args = [notes, 0n, noting(4_000n, true), 0, 60_000n, 0n, 0n, zeroAddress, zeroAddress] as const
  const address = holder.safe
  const txHash = await client.readContract({
    address,
    abi,
    functionName: 'getTransactionHash',
    args: [...args, 0n],
  })
  const logs = await client.getContractEvents({ address, abi, fromBlock: 'earliest', toBlock: 'latest' })
  expect(logs.filter((log) => 'txHash' in log.args && log.args.txHash === txHash)).toMatchObject([
    { eventName: 'ExecutionFailure' },
  ])
})

test('a slot that is not the counter of the Safe is refused, at the latest when the counter has moved', async () => {
  const holder = await newSafe()
  const { safe } = holder
  const getter = '0xaffed0e0'
  // Slot 4 holds the threshold.
  const wrong = world.allocator(storageNonce({ address: safe, slot: 4n, getter }))
  await expect(wrong.reserve()).rejects.toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
  // Slot 9 is empty, and so is the counter: their equality proves nothing.
  const empty = world.allocator(storageNonce({ address: safe, slot: 9n, getter }))
  const failed = new Promise<Error>((resolve) => {
    empty.on('error', ({ error }) => resolve(error))
  })
  expect((await empty.reserve()).nonce).toBe(0n)
  const tx = await world.lane(1).send(await holder.sign(0n, 5_000n))
  await tx.wait('sealed')
  expect(await failed).toMatchObject({ code: 'INVALID' })
  await expect(empty.reserve()).rejects.toMatchObject({ code: 'INVALID' })
  await expect(world.allocator(safeNonce({ safe: world.notes })).ready()).rejects.toMatchObject({
    code: 'INVALID',
  })
})
