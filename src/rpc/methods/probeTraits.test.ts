import { describe, expect, test } from 'vitest'
import { createCallPort, hashOf, type StubAnswer } from '../../../test/contract/stubPort.js'
import type { RpcCall } from '../port.js'
import { createProfile } from '../profile.js'
import { probeMethods, probeTraits } from './probeTraits.js'

const refused = (message: string, code = -32000): StubAnswer => ({ failure: { kind: 'rpc', code, message } })

describe('state at `pending`, which the contract of EIP-2935 shows without a transaction', () => {
  const [old, hash] = [hashOf('1'), hashOf('2')]
  const LATEST = 8_191 + 5

  /** What the contract holds at each tag, and what its getter returns at `pending`. */
  function history(plain: string, latest: string, returned: StubAnswer) {
    return createCallPort(({ method, params }: RpcCall) => {
      if (method === 'web3_clientVersion') return { result: 'reth/v1.9.0' }
      if (method === 'eth_call') return returned
      expect(params.slice(0, 2)).toEqual(['0x0000f90827f1c53a10cb7a02335b175320002935', '0x5'])
      return { result: params[2] === 'pending' ? plain : latest }
    })
  }

  test.each([
    ['is served', hash, old, { result: hash }, true],
    ['is not served, but calls see it', old, old, { result: hash }, false],
    ['is unknown if a block came in between', hash, hash, { result: hash }, undefined],
    ['is unknown if the getter reverts at it', old, old, refused('execution reverted', 3), undefined],
    ['is unknown on a chain without the contract', hashOf('0'), hashOf('0'), { result: '0x' }, undefined],
  ])('%s', async (_, plain, latest, returned, expected) => {
    const port = history(plain, latest, returned)
    const profile = createProfile()
    await probeTraits(port, profile, LATEST)
    expect(profile.current()).toMatchObject({ pendingState: expected, client: 'reth/v1.9.0' })
    expect(port.batches).toHaveLength(1)
  })
})

test('methods that not every endpoint serves are learned in one request, which changes nothing', async () => {
  const seen = async (receipts: StubAnswer, simulation: StubAnswer) => {
    const port = createCallPort(({ method }) => (method === 'eth_simulateV1' ? simulation : receipts))
    const profile = createProfile()
    await probeMethods(port, profile, 16)
    expect(port.batches).toHaveLength(1)
    const { blockReceipts, simulateV1 } = profile.current()
    return [blockReceipts, simulateV1]
  }
  const missing = refused('the method does not exist/is not available', -32601)
  expect(await seen({ result: [] }, { result: [] })).toEqual([true, true])
  expect(await seen({ result: [] }, refused('empty input', -32602))).toEqual([true, true])
  expect(await seen(missing, missing)).toEqual([false, false])
  expect(await seen(refused('rate limit', 429), refused('rate limit', 429))).toEqual([undefined, undefined])
})
