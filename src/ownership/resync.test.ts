import { type Hex, pad } from 'viem'
import { describe, expect, test } from 'vitest'
import { programRequest } from '../../test/sim/program.js'
import { storageNonce } from '../allocator/sources.js'
import { createNonceAllocatorIn } from '../api/allocators/allocator.js'
import { openProcesses } from '../api/sender/processes.fixture.js'
import { openLane, type SimLane, transfer } from '../api/sender/simLane.fixture.js'
import type { RpcCall } from '../rpc/port.js'
import type { TxRequest } from '../types/index.js'

const CONTRACT = '0x2222222222222222222222222222222222222222'
const word = (value: number): Hex => pad(`0x${value.toString(16).padStart(2, '0')}`)

/** Runs the work, and returns the requests that the endpoint saw meanwhile. */
async function requestsOf(lane: SimLane, work: () => Promise<void>): Promise<(readonly RpcCall[])[]> {
  const { length } = lane.requests
  await lane.settle(work())
  return lane.requests.slice(length)
}

const reads = (calls: readonly RpcCall[] = []) =>
  calls.map(({ method, params }) => `${method} ${params[method === 'eth_call' ? 1 : params.length - 1]}`)

/** The account at both tags. Its code at `pending` is also read by a call while the profile does not say how. */
const ACCOUNT_READ = [
  'eth_getTransactionCount pending',
  'eth_call pending',
  'eth_getCode pending',
  'eth_getTransactionCount latest',
  'eth_getCode latest',
]

describe('resync of the lease owner', () => {
  test('is two round trips: the account at latest and at pending, and a tick', async () => {
    await using lane = await openLane()
    const seen = await requestsOf(lane, () => lane.sender.resync())
    expect(seen).toHaveLength(2)
    expect(reads(seen[0])).toEqual(expect.arrayContaining(ACCOUNT_READ))
    expect(reads(seen[1])).toEqual(
      expect.arrayContaining(['eth_getTransactionCount latest', 'eth_getTransactionCount pending']),
    )
  })

  test('finds a nonce that another user of the key has used while the lane was idle', async () => {
    await using lane = await openLane()
    lane.foreign()
    await lane.blocks(2)
    await lane.settle(lane.sender.resync())
    await lane.until(() => lane.events('foreign').length > 0)
    expect(await lane.snapshot()).toMatchObject({ floor: 1, cursor: 1 })
  })

  test('also reads the storage at pending that an open transaction declares as its effect', async () => {
    await using lane = await openLane()
    await lane.settle((await lane.settle(lane.sender.send(transfer(1)))).wait())
    const { to } = programRequest({ kind: 'call', marker: 1 })
    lane.script = ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === 'pending' ? { ok: true, result: null } : undefined
    const first = await lane.settle(
      lane.sender.send(transfer(2), { effect: { address: to as Hex, slot: '0x7', value: word(1) } }),
    )
    void lane.sender.send({ ...transfer(3) } as TxRequest, { after: [first] }).catch(() => {})
    await lane.clock.advance(20)
    const seen = await requestsOf(lane, () => lane.sender.resync())
    expect(seen.map(reads).filter((calls) => calls.includes('eth_getStorageAt pending'))).not.toHaveLength(0)
    await lane.settle(lane.sender.drain())
  })

  test('takes the code that was pre-confirmed, also where a plain read at pending does not show it', async () => {
    await using lane = await openLane()
    const designator = `ef0100${'3'.repeat(40)}`
    lane.script = ({ method, params }) =>
      method === 'eth_call' && params[2] !== undefined
        ? { ok: true, result: `${pad('0x74786c616e65')}${designator}` }
        : undefined
    await lane.settle(lane.sender.resync())
    expect(await lane.snapshot()).toMatchObject({
      account: { kind: 'delegated', to: `0x${'3'.repeat(40)}` },
      endpoints: [{ profile: { pendingState: false } }],
    })
  })
})

describe('resync of a standby', () => {
  test('is one round trip for the account at latest and at pending, and a read of the store', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [, second] = await world.pair()
    await lane.blocks(1)
    const seen = await requestsOf(lane, () => second.sender.resync())
    const own = seen.filter((calls) => calls.some(({ method }) => method === 'eth_getCode'))
    expect(own).toHaveLength(1)
    expect(reads(own[0])).toEqual(expect.arrayContaining(ACCOUNT_READ))
  })

  test('brings the counts and the code that a snapshot shows while its endpoint does not answer', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [first, second] = await world.pair()
    await lane.settle((await lane.settle(first.sender.send(transfer(1)))).wait())
    await lane.settle(second.sender.resync())
    second.nodeIs(false)
    expect(await lane.settle(second.sender.snapshot())).toMatchObject({ holder: false, floor: 1, cursor: 1 })
    await expect(lane.rejection(second.sender.resync())).resolves.toMatchObject({ code: 'UNREACHABLE' })
    second.nodeIs(true)
  })

  test('whose lane closes meanwhile: CLOSED', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [, second] = await world.pair()
    const resync = lane.rejection(second.sender.resync())
    await lane.settle(second.sender.close())
    expect(await resync).toMatchObject({ code: 'CLOSED' })
  })
})

describe('resync of a contract counter', () => {
  async function openCounter(code: { latest: Hex; pending: Hex }) {
    const lane = await openLane()
    const allocator = createNonceAllocatorIn(lane.environment, {
      client: lane.parameters.client,
      address: CONTRACT,
      source: storageNonce({ address: CONTRACT, slot: 0n }),
    } as never)
    let count = 40
    lane.script = ({ method, params }) => {
      const block = params.at(-1) as 'latest' | 'pending'
      if (method === 'eth_getStorageAt')
        return { ok: true, result: word(count + (block === 'pending' ? 2 : 0)) }
      return method === 'eth_getCode' ? { ok: true, result: code[block] } : undefined
    }
    await lane.settle(allocator.ready())
    return { lane, allocator, set: (next: number) => (count = next) }
  }

  test('is one round trip: its storage and the code of the contract, at latest and at pending', async () => {
    const { lane, allocator, set } = await openCounter({ latest: '0x6001', pending: '0x6001' })
    await lane.blocks(3)
    set(50)
    const seen = await requestsOf(lane, () => allocator.resync())
    expect(seen.map(reads)).toEqual([
      expect.arrayContaining([
        'eth_getStorageAt latest',
        'eth_getStorageAt pending',
        'eth_getCode latest',
        'eth_getCode pending',
      ]),
    ])
    expect(allocator.snapshot()).toMatchObject({ floor: 50n, cursor: 52n })
    await lane.settle(allocator.close())
    await lane[Symbol.asyncDispose]()
  })

  test('is INVALID for an address without a contract, whose slot would hold 0 for ever', async () => {
    const { lane, allocator } = await openCounter({ latest: '0x', pending: '0x' })
    expect(await lane.rejection(allocator.resync())).toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('source'),
    })
    await lane.settle(allocator.close())
    await lane[Symbol.asyncDispose]()
  })

  test('accepts a contract whose deployment is pre-confirmed', async () => {
    const { lane, allocator } = await openCounter({ latest: '0x', pending: '0x6001' })
    await lane.settle(allocator.resync())
    await lane.settle(allocator.close())
    await lane[Symbol.asyncDispose]()
  })
})
