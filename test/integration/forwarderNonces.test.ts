import { type Address, createPublicClient, custom, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { forwarderNonce, memoryStore } from '../../src/index.js'
import {
  artifact,
  type Carrier,
  type ContractWorld,
  type NonceHolder,
  noting,
  reported,
  runBurst,
  runForeign,
  runRevertedCarrier,
  startContractWorld,
} from './contractNonces.js'

const abi = parseAbi([
  'struct ForwardRequestData { address from; address to; uint256 value; uint256 gas; uint48 deadline; bytes data; bytes signature; }',
  'function execute(ForwardRequestData request) payable',
  'function executeBatch(ForwardRequestData[] requests, address refundReceiver) payable',
  'function nonces(address owner) view returns (uint256)',
  'event ExecutedForwardRequest(address indexed signer, uint256 nonce, bool success)',
])
const FORWARD_REQUEST = {
  ForwardRequest: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'gas', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint48' },
    { name: 'data', type: 'bytes' },
  ],
} as const
const DEADLINE = 2 ** 48 - 1

let world: ContractWorld
let forwarder: Address
let next = 3

beforeAll(async () => {
  world = await startContractWorld()
  forwarder = await world.deploy(artifact('@openzeppelin/contracts/build/contracts/ERC2771Forwarder'), [
    'Forwarder',
  ])
})
afterEach(() => world.closeAll())
afterAll(() => world.devnet.stop())

/** A signer without earlier forward requests. */
function newSigner(): NonceHolder & { readonly from: Address } {
  const { client, devnet, notes } = world
  const account = devnet.accounts[next++]!
  const from = account.address

  async function request(nonce: bigint, data: Hex) {
    const fields = { from, to: notes, value: 0n, gas: 60_000n, deadline: DEADLINE, data } as const
    const signature = await account.signTypedData({
      domain: { name: 'Forwarder', version: '1', chainId: devnet.chain.id, verifyingContract: forwarder },
      types: FORWARD_REQUEST,
      primaryType: 'ForwardRequest',
      message: { ...fields, nonce },
    })
    return { ...fields, signature }
  }

  async function alone(at: bigint, id: bigint): Promise<Carrier> {
    const args = [await request(at, noting(id))] as const
    return { to: forwarder, data: encodeFunctionData({ abi, functionName: 'execute', args }), gas: 300_000n }
  }

  return {
    from,
    source: forwarderNonce({ forwarder, from }),
    nonce: () => client.readContract({ address: forwarder, abi, functionName: 'nonces', args: [from] }),
    async sign(at, id, { reverts = false } = {}) {
      if (!reverts) return alone(at, id)
      // Alone, a reverting request would revert the carrier. In a batch with a refund receiver, it uses its
      // nonce.
      const args = [[await request(at, noting(id, true))], devnet.accounts[9]!.address] as const
      const data = encodeFunctionData({ abi, functionName: 'executeBatch', args })
      return { to: forwarder, data, gas: 300_000n }
    },
  }
}

test('a hundred concurrent forward requests land in order, each once, including failing ones', async () => {
  await runBurst(world, newSigner(), 1_000n)
})

test('a reverted carrier frees no nonce of a forwarder: a stranger may submit the same request', async () => {
  const failing = (carrier: Carrier) => ({ ...carrier, gas: 60_000n })
  await runRevertedCarrier(world, newSigner(), failing, 2_000n)
})

test('the owner of a nonce that a stranger used is notified', async () => {
  await runForeign(world, newSigner(), 3_000n)
})

test('a released nonce that no caller takes is used up by the filler, and the requests above it land', async () => {
  const signer = newSigner()
  const filled: bigint[] = []
  const lane = world.lane(1)
  const allocator = world.allocator(signer.source, {
    limits: { gapFillAfterMs: 100 },
    filler: async ({ nonce }) => {
      filled.push(nonce)
      await lane.send(await signer.sign(nonce, 4_999n))
    },
  })
  const [first, second] = await allocator.reserveMany(2)
  const payload = await signer.sign(second!.nonce, 4_001n)
  await second!.commit({ payload: payload.data })
  const gone = [
    reported(allocator, 'gapFilled', [first!.nonce]),
    reported(allocator, 'used', [second!.nonce]),
  ]
  await first!.release()
  await gone[0]
  const tx = await lane.send(payload)
  expect((await tx.wait('sealed')).status).toBe('success')
  await gone[1]
  expect(filled).toEqual([0n])
  expect(await world.noted(4_001n)).toBe(1n)
})

test('if an endpoint does not show storage at pending, the getter is called there', async () => {
  const signer = newSigner()
  const { client, devnet } = world
  const overlaid: string[] = []
  // A node that answers storage reads at pending with the sealed state.
  const request = ({ method, params }: { method: string; params: readonly unknown[] }): Promise<unknown> => {
    if (method === 'eth_call' && params[1] === 'pending') overlaid.push(method)
    const asked = method === 'eth_getStorageAt' ? [...params.slice(0, 2), 'latest'] : params
    return client.request({ method, params: asked } as never)
  }
  const sealedOnly = createPublicClient({ chain: devnet.chain, transport: custom({ request }) })
  const allocator = world.allocator(signer.source, { client: sealedOnly, store: memoryStore() })
  const tx = await world.lane(1).send(await signer.sign(0n, 6_000n))
  await tx.wait('preconfirmed')
  expect((await allocator.reserve()).nonce).toBe(1n)
  expect(overlaid.length).toBeGreaterThan(0)
})

test('the event of a forwarder shows signer, nonce and success, but not which request used the nonce', async () => {
  const signer = newSigner()
  const tx = await world.lane(1).send(await signer.sign(0n, 5_000n, { reverts: true }))
  await tx.wait('sealed')
  const logs = await world.client.getContractEvents({
    address: forwarder,
    abi,
    eventName: 'ExecutedForwardRequest',
    args: { signer: signer.from },
    fromBlock: 'earliest',
    toBlock: 'latest',
  })
  expect(logs).toMatchObject([{ args: { nonce: 0n, success: false }, transactionHash: tx.hash }])
})
