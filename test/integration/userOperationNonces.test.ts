import { type Address, concat, encodeFunctionData, type Hex, numberToHex, parseAbi, parseEther } from 'viem'
import { getUserOperationHash } from 'viem/account-abstraction'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { entryPointNonce } from '../../src/index.js'
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

const CONTRACTS = '@account-abstraction/contracts/artifacts'
const entryPointAbi = parseAbi([
  'struct PackedUserOperation { address sender; uint256 nonce; bytes initCode; bytes callData; bytes32 accountGasLimits; uint256 preVerificationGas; bytes32 gasFees; bytes paymasterAndData; bytes signature; }',
  'function handleOps(PackedUserOperation[] ops, address beneficiary)',
  'function getNonce(address sender, uint192 key) view returns (uint256)',
  'function depositTo(address account) payable',
  'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
])
const factoryAbi = parseAbi(['function createAccount(address owner, uint256 salt) returns (address)'])
const accountAbi = parseAbi(['function execute(address dest, uint256 value, bytes func)'])
const GAS = { call: 100_000n, verification: 150_000n, pre: 50_000n, fee: 2_000_000_000n } as const

let world: ContractWorld
let entryPoint: Address
let sender: Address

beforeAll(async () => {
  world = await startContractWorld()
  const { client, devnet, deploy, done } = world
  entryPoint = await deploy(artifact(`${CONTRACTS}/EntryPoint`))
  const factory = await deploy(artifact(`${CONTRACTS}/SimpleAccountFactory`), [entryPoint])
  const { request, result } = await client.simulateContract({
    address: factory,
    abi: factoryAbi,
    functionName: 'createAccount',
    args: [devnet.accounts[5]!.address, 0n],
  })
  sender = result
  await done(client.writeContract(request))
  const deposit = {
    address: entryPoint,
    abi: entryPointAbi,
    functionName: 'depositTo',
    args: [sender],
  } as const
  await done(client.writeContract({ ...deposit, value: parseEther('100') }))
})
afterEach(() => world.closeAll())
afterAll(() => world.devnet.stop())

/** The account's operations of one key. Each key has its own sequence. */
function operations(key: bigint): NonceHolder & { hashOf(nonce: bigint, id: bigint): Hex } {
  const { client, devnet, notes } = world
  const owner = devnet.accounts[5]!
  const both = (high: bigint, low: bigint) =>
    concat([numberToHex(high, { size: 16 }), numberToHex(low, { size: 16 })])

  function callOf(id: bigint, reverts: boolean): Hex {
    const args = [notes, 0n, noting(id, reverts)] as const
    return encodeFunctionData({ abi: accountAbi, functionName: 'execute', args })
  }

  function hashOf(nonce: bigint, id: bigint, reverts = false): Hex {
    return getUserOperationHash({
      chainId: devnet.chain.id,
      entryPointAddress: entryPoint,
      entryPointVersion: '0.7',
      userOperation: {
        sender,
        nonce,
        callData: callOf(id, reverts),
        callGasLimit: GAS.call,
        verificationGasLimit: GAS.verification,
        preVerificationGas: GAS.pre,
        maxFeePerGas: GAS.fee,
        maxPriorityFeePerGas: GAS.fee,
        signature: '0x',
      },
    })
  }

  return {
    source: entryPointNonce({ entryPoint, sender, key }),
    nonce: () =>
      client.readContract({
        address: entryPoint,
        abi: entryPointAbi,
        functionName: 'getNonce',
        args: [sender, key],
      }),
    hashOf,
    async sign(nonce, id, { reverts = false } = {}) {
      const operation = {
        sender,
        nonce,
        initCode: '0x',
        callData: callOf(id, reverts),
        accountGasLimits: both(GAS.verification, GAS.call),
        preVerificationGas: GAS.pre,
        gasFees: both(GAS.fee, GAS.fee),
        paymasterAndData: '0x',
        signature: await owner.signMessage({ message: { raw: hashOf(nonce, id, reverts) } }),
      } as const
      const args = [[operation], owner.address] as const
      const data = encodeFunctionData({ abi: entryPointAbi, functionName: 'handleOps', args })
      return { to: entryPoint, data, gas: 500_000n }
    },
  }
}

test('a hundred concurrent user operations land in order, each once, including failing ones', async () => {
  await runBurst(world, operations(0n), 1_000n)
})

test('nonces of a key other than 0 carry the key, and wait for no other key', async () => {
  const keyed = operations(7n)
  const allocator = world.allocator(keyed.source)
  expect((await allocator.reserve()).nonce).toBe(7n << 64n)
  const highest = (1n << 192n) - 1n
  expect((await world.allocator(operations(highest).source).reserve()).nonce).toBe(highest << 64n)
  await world.closeAll()
  await runBurst(world, operations(8n), 2_000n)
})

test('a reverted bundle frees no nonce: a stranger may bundle the same operation', async () => {
  await runRevertedCarrier(world, operations(9n), (carrier) => ({ ...carrier, gas: 90_000n }), 3_000n)
})

test('the owner of a nonce that a stranger used is notified', async () => {
  await runForeign(world, operations(10n), 4_000n)
})

test('the hash in the event of the EntryPoint shows which operation used a nonce', async () => {
  const holder = operations(11n)
  const nonce = 11n << 64n
  const tx = await world.lane(1).send(await holder.sign(nonce, 5_000n))
  await tx.wait('sealed')
  const logs = await world.client.getContractEvents({
    address: entryPoint,
    abi: entryPointAbi,
    eventName: 'UserOperationEvent',
    args: { userOpHash: holder.hashOf(nonce, 5_000n) },
    fromBlock: 'earliest',
    toBlock: 'latest',
  })
  expect(logs).toMatchObject([{ args: { nonce, sender, success: true } }])
})
