import { type Hex, pad } from 'viem'
import { describe, expect, test } from 'vitest'
import { createCallPort, rawBlock, type StubAnswer } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { profileOf } from '../profile.js'
import { waitForCode, waitForStorage } from './polls.js'
import { readLane } from './readLane.js'
import { getCode, getStorageAt } from './state.js'

const address = '0x1111111111111111111111111111111111111111'
const word = (digit: string): Hex => pad(`0x0${digit}`)
/** The word before the value that the reading code returns. */
const MARK = pad('0x74786c616e65')
const refused: StubAnswer = { failure: { kind: 'rpc', code: -32602, message: 'too many arguments' } }
const lost: StubAnswer = { failure: { kind: 'timeout', message: 'no answer' } }

type Node = {
  /** What a plain read shows at `pending`: the pending state, or the latest one. */
  plain: 'pending' | 'latest'
  call?: (value: Hex) => StubAnswer
  plainAnswer?: StubAnswer
  /** Code and the word of a slot, at `latest` and at `pending`. */
  code: readonly [latest: Hex, pending: Hex]
  slot: readonly [latest: Hex, pending: Hex]
}

const marked = (value: Hex): StubAnswer => ({ result: `${MARK}${value.slice(2)}` })

function endpoint(node: Node) {
  return createCallPort(({ method, params }) => {
    if (method === 'eth_getTransactionCount') return { result: '0x5' }
    if (method === 'eth_getBlockByNumber')
      return { result: rawBlock({ number: params[0] === 'pending' ? '0x11' : '0x10' }) }
    const isCode = method === 'eth_getCode' || (params[0] as { to?: string }).to?.endsWith('7478') === true
    const values = isCode ? node.code : node.slot
    if (method === 'eth_call') return (node.call ?? marked)(values[1])
    if (params.at(-1) === 'latest') return { result: values[0] }
    return node.plainAnswer ?? { result: values[node.plain === 'pending' ? 1 : 0] }
  })
}

/** Base's flashblocks RPC: calls run on the pending state, plain reads answer as for `latest`. */
const FLASHBLOCKS: Node = { plain: 'latest', code: ['0x', '0x6001'], slot: [word('1'), word('2')] }
const GETH: Node = { ...FLASHBLOCKS, plain: 'pending' }

const methods = (port: ReturnType<typeof endpoint>) =>
  port.batches.map((calls) =>
    calls.map(({ method, params }) => `${method} ${params[method === 'eth_call' ? 1 : params.length - 1]}`),
  )

describe('on an endpoint whose plain reads at `pending` answer as for `latest`', () => {
  test('a wait for code ends with the pre-confirmed code, and the profile learns', async () => {
    const port = endpoint(FLASHBLOCKS)
    expect(await waitForCode(port, { address, clock: createVirtualClock() })).toBe('0x6001')
    expect(profileOf(port).current().pendingState).toBe(false)
    expect(methods(port)).toEqual([['eth_call pending', 'eth_getCode pending', 'eth_getCode latest']])
  })

  test('a wait for storage ends with the pre-confirmed word', async () => {
    const port = endpoint(FLASHBLOCKS)
    const wait = waitForStorage(port, { address, slot: 5, value: word('2'), clock: createVirtualClock() })
    expect(await wait).toBe(word('2'))
    expect(profileOf(port).current().pendingState).toBe(false)
  })

  test('a wait for storage uses the getter of the contract, which needs no override', async () => {
    const port = endpoint({ ...FLASHBLOCKS, call: (value) => ({ result: value }) })
    const getter = '0xaffed0e0'
    const clock = createVirtualClock()
    expect(await waitForStorage(port, { address, slot: 5, value: word('2'), getter, clock })).toBe(word('2'))
    expect(port.batches[0]?.[0]).toEqual({
      method: 'eth_call',
      params: [{ to: address, data: getter }, 'pending'],
    })
    const bad = waitForStorage(port, { address, slot: 5, value: word('2'), getter: '0x1' })
    await expect(bad).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining('getter') })
  })

  test('single reads use calls once the profile says so, and one request', async () => {
    const port = endpoint(FLASHBLOCKS)
    expect(await getCode(port, { address, block: 'pending' })).toBe('0x')
    profileOf(port).observe({ kind: 'pendingState', usable: false })
    expect(await getCode(port, { address, block: 'pending' })).toBe('0x6001')
    expect(await getStorageAt(port, { address, slot: 5, block: 'pending' })).toBe(word('2'))
    expect(await getStorageAt(port, { address, slot: 5, block: 'latest' })).toBe(word('1'))
    expect(methods(port)).toEqual([
      ['eth_getCode pending'],
      ['eth_call pending', 'eth_getCode pending'],
      ['eth_call pending', 'eth_getStorageAt pending'],
      ['eth_getStorageAt latest'],
    ])
  })

  test('a reading of a lane shows them in its pending part', async () => {
    const lane = await readLane(endpoint(FLASHBLOCKS), { address, slots: [5n] })
    expect(lane).toMatchObject({
      latest: { code: '0x', storage: [word('1')] },
      pending: { code: '0x6001', storage: [word('2')] },
    })
  })

  test('the calls name the place, and override the code of no other account than they must', async () => {
    const port = endpoint(FLASHBLOCKS)
    await readLane(port, { address, slots: [5n] })
    const calls = port.batches[0]?.filter(({ method }) => method === 'eth_call') ?? []
    const [code, slot] = calls.map(({ params }) => params as [{ to: Hex; data: Hex }, string, object])
    expect(code?.[0].data).toBe(pad(address))
    expect(Object.keys(code?.[2] ?? {})).toEqual([code?.[0].to])
    expect(code?.[0].to).not.toBe(address)
    expect(slot?.[0]).toEqual({ to: address, data: word('5') })
    expect(Object.keys(slot?.[2] ?? {})).toEqual([address])
  })
})

describe('on an endpoint whose plain reads show the pending state', () => {
  test('a wait learns it, and later reads are single calls', async () => {
    const port = endpoint(GETH)
    expect(await waitForCode(port, { address, clock: createVirtualClock() })).toBe('0x6001')
    expect(profileOf(port).current().pendingState).toBe(true)
    await waitForStorage(port, { address, slot: 5, value: word('2'), clock: createVirtualClock() })
    expect(methods(port).at(-1)).toEqual(['eth_getStorageAt pending'])
  })

  test.each([
    ['are refused', () => refused],
    ['are not answered', () => lost],
    ['ignore the override and return nothing', (): StubAnswer => ({ result: '0x' })],
    ['ignore the override and return a word of the contract', (): StubAnswer => ({ result: word('9') })],
  ])('calls that %s change nothing', async (_, call) => {
    const port = endpoint({ ...GETH, call })
    expect(await waitForCode(port, { address, clock: createVirtualClock() })).toBe('0x6001')
    expect(profileOf(port).current().pendingState).toBe(true)
  })
})

describe('answers that cannot be compared teach nothing:', () => {
  test('state that is the same at `latest` and at `pending`', async () => {
    const port = endpoint({ ...FLASHBLOCKS, code: ['0x6001', '0x6001'] })
    expect(await waitForCode(port, { address, clock: createVirtualClock() })).toBe('0x6001')
    expect(profileOf(port).current().pendingState).toBeUndefined()
  })

  test('calls that are refused where the plain read shows the latest state', async () => {
    const port = endpoint({ ...FLASHBLOCKS, code: ['0x6002', '0x6001'], call: () => refused })
    expect(await waitForCode(port, { address, clock: createVirtualClock() })).toBe('0x6002')
    expect(profileOf(port).current().pendingState).toBeUndefined()
  })
})

test.each([
  ['nothing', '0x'],
  ['words of the contract', `${word('9')}${word('8').slice(2)}`],
])('a call that ignores the override and returns %s does not hide sealed state', async (_, result) => {
  const sealed = { code: ['0x6001', '0x6001'], slot: [word('1'), word('1')] } as const
  const port = endpoint({ ...FLASHBLOCKS, ...sealed, call: () => ({ result }) })
  const lane = await readLane(port, { address, slots: [5n] })
  expect(lane.pending).toMatchObject({ code: '0x6001', storage: [word('1')] })
  expect(profileOf(port).current().pendingState).toBeUndefined()
})

test('an endpoint without the tag `pending` is read at `latest`', async () => {
  const port = endpoint({ ...FLASHBLOCKS, code: ['0x6002', '0x6001'] })
  profileOf(port).observe({ kind: 'pendingMissing' })
  expect(await getCode(port, { address, block: 'pending' })).toBe('0x6002')
  expect(methods(port)).toEqual([['eth_getCode latest']])
})

test('a place that no call shows is an error that names the plain method', async () => {
  const port = endpoint({ ...FLASHBLOCKS, call: () => refused, plainAnswer: refused })
  profileOf(port).observe({ kind: 'pendingState', usable: false })
  await expect(getStorageAt(port, { address, slot: 5, block: 'pending' })).rejects.toMatchObject({
    failure: 'rpc',
    method: 'eth_getStorageAt',
  })
})
