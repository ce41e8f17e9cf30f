import {
  type Abi,
  type Address,
  encodeFunctionData,
  type Hex,
  type LocalAccount,
  type SignedAuthorization,
  zeroAddress,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createSender, memoryStore, type Sender, type Tx, type TxRequest } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { compileDelegate } from '../support/delegate.js'
import { rpc } from './devnetSupport.js'

const { abi, bytecode } = compileDelegate()
const GAS = 500_000n

type Lane = Sender & {
  readonly account: LocalAccount
  /** The authorizations that the account signed, in order. */
  readonly tuples: readonly SignedAuthorization[]
  readonly foreign: readonly number[]
}

describe.each(['base', 'geth'] as const)('delegated accounts under the rules of %s', (rules) => {
  let devnet: Devnet
  let delegate: Address
  const opened: Sender[] = []
  let next = 1

  beforeAll(async () => {
    devnet = await startDevnet({
      rules,
      blockTimeMs: 400,
      ...(rules === 'base' ? { flashblockMs: 200 } : {}),
      accounts: 40,
    })
    const client = devnet.client(0)
    const hash = await client.deployContract({ abi, bytecode, args: [] } as never)
    delegate = (await client.waitForTransactionReceipt({ hash })).contractAddress as Address
  })
  afterEach(async () => {
    devnet.faults.clear()
    await Promise.all(opened.splice(0).map((sender) => sender.close()))
  })
  afterAll(() => devnet.stop())

  function open(): Lane {
    const index = next++
    const key = devnet.accounts[index] as LocalAccount
    const tuples: SignedAuthorization[] = []
    const foreign: number[] = []
    const account: LocalAccount = {
      ...key,
      signAuthorization: async (asked) => {
        const signed = await key.signAuthorization?.(asked)
        tuples.push(signed as SignedAuthorization)
        return signed as never
      },
    }
    const limits = { pollIntervalMs: 50, stuckAfterMs: 400, gapFillAfterMs: 200 }
    // A second endpoint is needed, because no block body shows the nonces of a CREATE, so two endpoints have
    // to agree.
    const endpoints = [{ client: devnet.client(index), role: 'read' as const }]
    const sender = createSender({
      client: devnet.client(index),
      endpoints,
      account,
      store: memoryStore(),
      limits,
    })
    sender.on('foreign', ({ nonce }) => void foreign.push(nonce))
    opened.push(sender)
    return Object.assign(sender, { account, tuples, foreign })
  }

  const call = (functionName: string, args: readonly unknown[]): Hex =>
    encodeFunctionData({ abi: abi as Abi, functionName, args })

  const marked = async (address: Address, item: number): Promise<bigint> =>
    (await devnet
      .client()
      .readContract({ abi, address, functionName: 'marks', args: [BigInt(item)] } as never)) as bigint

  /** Runs the account's own delegated code, which counts the calls in the account's storage. */
  const mark = (lane: Lane, item: number): TxRequest =>
    ({ to: lane.address, data: call('mark', [BigInt(item)]), gas: GAS }) as TxRequest

  /** The number of executions of each item. */
  const marks = (lane: Lane, items: readonly number[]): Promise<bigint[]> =>
    Promise.all(items.map((item) => marked(lane.address, item)))

  const code = (address: Address) => rpc<Hex>(devnet.url, 'eth_getCode', address, 'latest')
  const designator = () => `0xef0100${delegate.slice(2).toLowerCase()}`
  const count = async (address: Address) =>
    Number(await rpc<Hex>(devnet.url, 'eth_getTransactionCount', address, 'latest'))

  /** A lane whose account runs the delegate's code. */
  async function delegated(): Promise<Lane> {
    const lane = open()
    const tx = await lane.send({
      to: lane.address,
      gas: GAS,
      authorize: [{ contractAddress: delegate }],
    } as TxRequest)
    await tx.wait('sealed')
    await lane.drain()
    return lane
  }

  /** A transaction of another account that carries the given authorizations. */
  async function submitted(authorizationList: readonly SignedAuthorization[], data?: Hex, to?: Address) {
    const client = devnet.client(0)
    const hash = await client.sendTransaction({
      to: to ?? client.account.address,
      data,
      gas: GAS,
      ...(authorizationList.length > 0 ? { authorizationList } : {}),
    } as never)
    return client.waitForTransactionReceipt({ hash })
  }

  async function burst(lane: Lane, items: readonly number[]): Promise<Tx[]> {
    return Promise.all(items.map((item) => lane.send(mark(lane, item), { until: 'queued' })))
  }

  /** Each item was executed once, no nonce is left empty, and the lane is not held. */
  async function allLanded(lane: Lane, items: readonly number[]): Promise<void> {
    await lane.drain()
    expect(await marks(lane, items)).toEqual(items.map(() => 1n))
    const { floor, cursor, holes, holds } = await lane.snapshot()
    expect({ floor, holes, holds }).toEqual({ floor: cursor, holes: [], holds: [] })
    expect(await count(lane.address)).toBe(floor)
  }

  test('own: the estimate sees the delegated code, the transaction runs with it, and the next nonce is right', async () => {
    const lane = open()
    const { gas: _, ...request } = mark(lane, 1) as TxRequest & { gas: bigint }
    const tx = await lane.send({ ...request, authorize: [{ contractAddress: delegate }] } as TxRequest)
    const [landed] = await Promise.all([tx.wait('sealed'), burst(lane, [2, 3])])
    expect(landed.status).toBe('success')
    expect(await code(lane.address)).toBe(designator())
    await allLanded(lane, [1, 2, 3])
    expect(lane.foreign).toEqual([])
    expect(await lane.snapshot()).toMatchObject({ cursor: 4, account: { kind: 'delegated' } })
  })

  test('several tuples, own and sponsored: each account is delegated, and each own tuple uses a nonce', async () => {
    const lane = open()
    const [one, other] = [generatePrivateKey(), generatePrivateKey()].map((key) => privateKeyToAccount(key))
    const contractAddress = delegate
    const tx = await lane.send({
      to: lane.address,
      gas: GAS,
      authorize: [
        { contractAddress: zeroAddress },
        { contractAddress, account: one },
        { contractAddress, account: lane.account },
        { contractAddress, account: other },
      ],
    } as TxRequest)
    await tx.wait('sealed')
    await lane.drain()
    for (const address of [lane.address, one?.address, other?.address])
      expect(await code(address as Address)).toBe(designator())
    expect(lane.tuples.map(({ nonce, chainId }) => [nonce, chainId])).toEqual([
      [1, devnet.chain.id],
      [2, devnet.chain.id],
    ])
    expect(await lane.snapshot()).toMatchObject({ floor: 3, cursor: 3 })
    expect(lane.foreign).toEqual([])
  })

  test('a sponsored tuple whose account has moved on is skipped, and the transaction lands nevertheless', async () => {
    const lane = open()
    const authority = devnet.accounts[next++] as LocalAccount
    devnet.faults.inject({ fault: 'neverPooled', method: 'eth_sendRawTransaction', count: 1 })
    const request = {
      to: lane.address,
      gas: GAS,
      authorize: [{ contractAddress: delegate, account: authority }],
    }
    const tx = await lane.send(request as TxRequest)
    await devnet.foreign({ account: authority })
    await tx.wait('sealed')
    await lane.drain()
    expect(await lane.snapshot()).toMatchObject({ floor: 1, cursor: 1, holds: [] })
    expect(await count(authority.address)).toBeGreaterThan(0)
  })

  test('tuples of another nonce, or for another chain, use no nonce: the lane continues', async () => {
    const lane = await delegated()
    const sign = (chainId: number, nonce: number) =>
      lane.account.signAuthorization?.({ contractAddress: delegate, chainId, nonce })
    const nonce = await count(lane.address)
    const invalid = await Promise.all([sign(devnet.chain.id, nonce + 7), sign(devnet.chain.id + 1, nonce)])
    await submitted(invalid as SignedAuthorization[])
    await burst(lane, [1, 2, 3])
    await allLanded(lane, [1, 2, 3])
    expect(lane.foreign).toEqual([])
    expect(await count(lane.address)).toBe(nonce + 3)
  })

  test('cancelled: its nonce goes to the next transaction; a tuple that others submit is foreign, and repaired', async () => {
    const lane = open()
    devnet.faults.inject({ fault: 'neverPooled', method: 'eth_sendRawTransaction', count: 1 })
    const tx = await lane.send({
      to: lane.address,
      gas: GAS,
      authorize: [{ contractAddress: delegate }],
    } as TxRequest)
    expect(await tx.cancel()).toEqual({ result: 'cancelled' })
    expect(await lane.snapshot()).toMatchObject({ floor: 1, cursor: 1, holes: [], holds: [] })
    expect(await code(lane.address)).toBe('0x')
    await submitted(lane.tuples)
    await burst(lane, [1, 2, 3])
    await allLanded(lane, [1, 2, 3])
    expect(await code(lane.address)).toBe(designator())
    expect(lane.foreign).toContain(1)
  })

  test('a burst of a delegated account backs off and lands, with no nonce used up', async () => {
    const lane = await delegated()
    const before = await count(lane.address)
    const items = Array.from({ length: 8 }, (_, item) => item)
    const txs = await burst(lane, items)
    await allLanded(lane, items)
    expect(txs.map(({ nonce }) => nonce)).toEqual(items.map((item) => before + item))
    expect((await lane.snapshot()).window).toBe(1)
  })

  test('delegated by another wallet: detected from the pool’s messages, and no transaction of a burst is lost', async () => {
    const lane = open()
    await lane.ready()
    const tuple = await lane.account.signAuthorization?.({
      contractAddress: delegate,
      chainId: devnet.chain.id,
      nonce: 0,
    })
    await submitted([tuple as SignedAuthorization])
    const items = Array.from({ length: 8 }, (_, item) => item)
    await burst(lane, items)
    await allLanded(lane, items)
    await lane.resync()
    expect(await lane.snapshot()).toMatchObject({ window: 1, account: { kind: 'delegated' } })
  })

  test('after the delegation ended, the window grows back', async () => {
    const lane = await delegated()
    const tx = await lane.send({
      to: lane.address,
      gas: GAS,
      authorize: [{ contractAddress: zeroAddress }],
    } as TxRequest)
    await tx.wait('sealed')
    await lane.drain()
    expect(await code(lane.address)).toBe('0x')
    await lane.resync()
    const { account, window } = await lane.snapshot()
    expect(account).toEqual({ kind: 'plain' })
    expect(window).toBeGreaterThan(1)
  })

  test('CREATE in delegated code uses nonces during a burst: foreign, and repaired', async () => {
    const lane = await delegated()
    const items = [1, 2, 3, 4, 5, 6]
    await burst(lane, items.slice(0, 3))
    await submitted([], call('create', [2n]), lane.address)
    await burst(lane, items.slice(3))
    await allLanded(lane, items)
    expect(lane.foreign.length).toBeGreaterThanOrEqual(2)
  })

  test('another account submits an authorization of the account during a burst: foreign, and repaired', async () => {
    const lane = await delegated()
    const items = [1, 2, 3, 4, 5, 6]
    const nonce = (await count(lane.address)) + 2
    const tuple = await lane.account.signAuthorization?.({
      contractAddress: delegate,
      chainId: devnet.chain.id,
      nonce,
    })
    await burst(lane, items)
    // The tuple is valid only in the block in which its nonce is the account's next, so it is submitted
    // several times.
    const attempts = Array.from({ length: 4 }, () => submitted([tuple as SignedAuthorization]))
    await Promise.allSettled(attempts)
    await allLanded(lane, items)
  })

  test('another wallet with the same key sends during a burst: foreign, and repaired', async () => {
    const lane = await delegated()
    const items = [1, 2, 3, 4, 5, 6]
    await burst(lane, items.slice(0, 3))
    await devnet.foreign({ account: lane.address })
    await burst(lane, items.slice(3))
    await allLanded(lane, items)
    expect(lane.foreign.length).toBeGreaterThanOrEqual(1)
  })
})
