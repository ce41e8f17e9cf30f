import { describe, expect, test } from 'vitest'
import { createCallPort, rawBlock, type StubAnswer } from '../../test/contract/stubPort.js'
import { denialOf } from '../chain/endpoints/budgetedPort.js'
import type { Said } from './corpus/corpus.fixture.js'
import { ALL } from './corpus/index.fixture.js'
import { PROVIDERS } from './corpus/providers.fixture.js'
import { isHistoryRefused } from './history.js'
import { isNodesAnswer, isRateLimit } from './limits.js'
import { probeMethods } from './methods/probeTraits.js'
import { readLane } from './methods/readLane.js'
import { firstAnswer, readOne } from './methods/source.js'
import type { Port, RpcFailure } from './port.js'
import { probeEndpoint } from './probe.js'
import { profileOf } from './profile.js'

const failureOf = ({ message, code = -32000, data }: Said): RpcFailure => ({
  kind: 'rpc',
  code,
  message,
  ...(data === undefined ? {} : { data }),
})
const said: readonly Said[] = [
  ...PROVIDERS.flatMap((one) => one.said),
  ...ALL.flatMap(({ code, said }) =>
    Object.values(said).flatMap((list) => list.map((one) => ({ code, ...one }))),
  ),
]
const byMessage = (isLimit: boolean) => [
  ...new Map(
    said.filter(({ reason }) => (reason === 'rateLimited') === isLimit).map((one) => [one.message, one]),
  ),
]
const limits = byMessage(true)
const others = byMessage(false)
const address = '0x1111111111111111111111111111111111111111'

describe('a rate limit in the words of a provider', () => {
  test.each(limits)('"%s" is no answer of the node', (_, one) => {
    const failure = failureOf(one)
    expect(isRateLimit(failure)).toBe(true)
    expect(isNodesAnswer({ ok: false, failure })).toBe(false)
    expect(isHistoryRefused(failure)).toBe(false)
    expect(denialOf([{ ok: false, failure }])).toEqual({
      calls: 1,
      retryAfterMs: one.retryAfterMs,
      said: one.message,
    })
  })

  test.each(limits)('"%s" does not mean that there is no pending block', async (_, one) => {
    const failing: StubAnswer = { failure: failureOf(one) }
    const port = createCallPort(({ method, params }) => {
      if (params.includes('pending')) return failing
      if (method === 'eth_getTransactionCount') return { result: '0x5' }
      if (method === 'eth_chainId') return { result: '0x1' }
      if (method === 'eth_getBlockByNumber')
        return { result: rawBlock(params[0] === '0x0' ? { number: '0x0' } : {}) }
      return { result: '0x' }
    })
    await expect(readLane(port, { address })).rejects.toMatchObject({ name: 'TxlaneError' })
    await probeEndpoint(port)
    expect(profileOf(port).current().pending).toBe('unknown')
  })

  test.each(limits)('"%s" does not show that a method is served', async (_, one) => {
    const port = createCallPort(() => ({ failure: failureOf(one) }))
    await probeMethods(port, profileOf(port), 16)
    expect(profileOf(port).current()).toMatchObject({ blockReceipts: undefined, simulateV1: undefined })
  })

  test.each(limits)('"%s" sends a read to the next endpoint', async (_, one) => {
    const limited = createCallPort(() => ({ failure: failureOf(one) }))
    const other = createCallPort(() => ({ result: '0x7' }))
    const ask = (port: Port) =>
      readOne(port, { method: 'eth_blockNumber', params: [] }, {}, (result) => result)
    await expect(firstAnswer([limited, other], undefined, ask)).resolves.toBe('0x7')
  })
})

describe('another answer of a node', () => {
  test.each(others)('"%s" is no rate limit', (_, one) => {
    const failure = failureOf(one)
    expect(isRateLimit(failure)).toBe(false)
    if (one.outcome !== 'unknown') expect(isNodesAnswer({ ok: false, failure })).toBe(true)
  })
})
