import { describe, expect, test } from 'vitest'
import { createStubPort, type StubAnswer } from '../../../test/contract/stubPort.js'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import type { RpcFailure } from '../port.js'
import { waitForCode, waitForStorage } from './polls.js'

const address = '0x1111111111111111111111111111111111111111'
const word = (digit: string) => `0x${digit.padStart(64, '0')}` as const
const noOverrides: RpcFailure = { kind: 'rpc', code: -32602, message: 'too many arguments, want at most 2' }
const failed: StubAnswer = { failure: { kind: 'network', message: 'reset' } }

/** A node that gives the next of the answers to each read at `pending`, and the last to later ones. */
function node(answers: readonly StubAnswer[]) {
  return createStubPort((calls, number) => {
    const answer = answers[Math.min(number, answers.length) - 1]!
    return calls.map(({ method, params }) => {
      if (method === 'eth_call') return 'failure' in answer ? answer : { failure: noOverrides }
      return params.at(-1) === 'pending' || 'failure' in answer ? answer : { result: '0x' }
    })
  })
}

describe('waiting for code', () => {
  test('ends with the code as soon as there is any at `pending`', async () => {
    const clock = createVirtualClock()
    const port = node([{ result: '0x' }, { result: '0x' }, { result: '0x6001' }])
    const code = waitForCode(port, { address, clock })
    await clock.advance(400)
    expect(await code).toBe('0x6001')
    const reads = port.batches.map((calls) => calls.find(({ method }) => method === 'eth_getCode')?.params)
    expect(reads).toEqual(Array(3).fill([address, 'pending']))
    expect(clock.pendingTimers).toBe(0)
  })

  test('continues after failed polls, and rejects at the timeout with the last failure as its cause', async () => {
    const clock = createVirtualClock()
    const port = node([failed])
    const wait = waitForCode(port, { address, clock, timeoutMs: 1000, pollingIntervalMs: 100 })
    const ended = expect(wait).rejects.toMatchObject({
      code: 'WAIT_TIMEOUT',
      fate: 'inFlight',
      cause: { failure: 'network', method: 'eth_getCode' },
    })
    await clock.advance(1000)
    await ended
    expect(clock.pendingTimers).toBe(0)
  })

  test('ends at once if the method is not supported', async () => {
    const port = node([{ failure: { kind: 'rpc', code: -32601, message: 'method not found' } }])
    await expect(waitForCode(port, { address, clock: createVirtualClock() })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    })
  })

  test('ends with ABORTED when the signal aborts, before or during the wait', async () => {
    const clock = createVirtualClock()
    const port = node([{ result: '0x' }])
    const before = waitForCode(port, { address, clock, signal: AbortSignal.abort() })
    await expect(before).rejects.toMatchObject({ code: 'ABORTED' })
    expect(port.batches).toEqual([])
    const controller = new AbortController()
    const meanwhile = waitForCode(port, { address, clock, signal: controller.signal })
    const ended = expect(meanwhile).rejects.toMatchObject({ code: 'ABORTED', fate: 'inFlight' })
    await clock.advance(300)
    controller.abort()
    await ended
    expect(clock.pendingTimers).toBe(0)
  })

  test.each([
    ['address', { address: '0x12' }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['pollingIntervalMs', { pollingIntervalMs: -1 }],
    ['block', { block: 'newest' }],
  ])('sends nothing for a bad %s', async (name, parameters) => {
    const port = node([{ result: '0x' }])
    const wait = waitForCode(port, { address, ...(parameters as object) })
    await expect(wait).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining(`Invalid ${name}`),
    })
    expect(port.batches).toEqual([])
  })
})

describe('waiting for storage', () => {
  test('ends when the slot holds the value, in whatever case it was given', async () => {
    const clock = createVirtualClock()
    const port = node([{ result: word('1') }, { result: word('ab') }])
    const wait = waitForStorage(port, { address, slot: 5, value: word('AB'), clock })
    await clock.advance(200)
    expect(await wait).toBe(word('ab'))
  })

  test('ends when a test of the value returns true, and rejects with an error of the test', async () => {
    const clock = createVirtualClock()
    const port = node([{ result: word('1') }, { result: word('7') }])
    const wait = waitForStorage(port, { address, slot: 5, value: (value) => BigInt(value) > 5n, clock })
    await clock.advance(200)
    expect(await wait).toBe(word('7'))
    const thrown = new Error('mine')
    const value = () => {
      throw thrown
    }
    await expect(waitForStorage(port, { address, slot: 5, value, clock })).rejects.toBe(thrown)
  })

  test('sends nothing for a value that is not 32 bytes', async () => {
    const port = node([{ result: word('1') }])
    const wait = waitForStorage(port, { address, slot: 5, value: '0x1' })
    await expect(wait).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining('value') })
    expect(port.batches).toEqual([])
  })
})
