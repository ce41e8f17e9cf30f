import { describe, expect, test } from 'vitest'
import { createCallPort, hashOf, rawBlock, type StubAnswer } from '../../test/contract/stubPort.js'
import type { RpcCall } from './port.js'
import { probeEndpoint } from './probe.js'

type Blocks = { genesis?: StubAnswer; pending?: StubAnswer; latest?: StubAnswer; chainId?: StubAnswer }
const refused = (message: string, code = -32000): StubAnswer => ({ failure: { kind: 'rpc', code, message } })

function endpoint(blocks: Blocks = {}) {
  return createCallPort(({ method, params: [block] }: RpcCall) => {
    if (method === 'eth_chainId') return blocks.chainId ?? { result: '0x2105' }
    if (block === '0x0')
      return blocks.genesis ?? { result: rawBlock({ number: '0x0', hash: hashOf('0').replace('00', '12') }) }
    if (block === 'pending') return blocks.pending ?? { result: rawBlock({ number: '0x11', hash: null }) }
    return blocks.latest ?? { result: rawBlock() }
  })
}

describe('probing an endpoint', () => {
  test('reads its chain, its genesis and its blocks in one request', async () => {
    const port = endpoint()
    const probed = await probeEndpoint(port, { expectChainId: 8453 })
    expect(probed).toMatchObject({ chainId: 8453, latest: { number: 16 }, pending: { number: 17 } })
    expect(probed.genesisHash).toBe(hashOf('0').replace('00', '12'))
    expect(probed.profile.current().pending).toBe('unknown')
    expect(port.batches).toHaveLength(1)
  })

  test('fails with CHAIN_MISMATCH on another chain id, and on another genesis', async () => {
    const mismatch = { code: 'CHAIN_MISMATCH', fate: 'notExecuted' }
    await expect(probeEndpoint(endpoint(), { expectChainId: 1 })).rejects.toMatchObject(mismatch)
    await expect(probeEndpoint(endpoint(), { expectGenesisHash: hashOf('9') })).rejects.toMatchObject(
      mismatch,
    )
  })

  test('accepts a node that reports, in known words, that it does not show block 0', async () => {
    for (const genesis of [{ result: null }, refused('pruned history unavailable')]) {
      const probed = await probeEndpoint(endpoint({ genesis }), { expectGenesisHash: hashOf('9') })
      expect(probed.genesisHash).toBeUndefined()
    }
  })

  test('does not accept another block as block 0, because the lane would have another name after a restart', async () => {
    const another = endpoint({ genesis: { result: rawBlock({ number: '0x3', hash: hashOf('3') }) } })
    await expect(probeEndpoint(another)).rejects.toThrow('asked for block 0, got block 0x3')
    const unnumbered = endpoint({ genesis: { result: { hash: hashOf('3') } } })
    await expect(probeEndpoint(unnumbered)).rejects.toThrow('eth_getBlockByNumber')
  })

  test('does not treat a temporary failure, or a missing state, as a missing block 0', async () => {
    for (const genesis of [
      refused('over rate limit', -32016),
      refused('header not found'),
      refused('missing trie node b10c (path ) state is not available'),
    ]) {
      await expect(probeEndpoint(endpoint({ genesis }))).rejects.toMatchObject({ name: 'TxlaneError' })
    }
  })

  test('detects that there is no pending block', async () => {
    for (const pending of [{ result: null }, refused('unknown block tag', -32602)]) {
      const probed = await probeEndpoint(endpoint({ pending }))
      expect(probed.pending).toBeUndefined()
      expect(probed.profile.current().pending).toBe('absent')
    }
  })

  test('does not treat a rate limit as a missing pending block', async () => {
    const probed = await probeEndpoint(endpoint({ pending: refused('over rate limit', -32016) }))
    expect(probed.profile.current().pending).toBe('unknown')
  })

  test.each<Blocks>([
    { chainId: { result: 8453 } },
    { chainId: refused('no') },
    { latest: { result: null } },
    { latest: { result: 'x' } },
    { genesis: { result: { hash: 'x' } } },
    { pending: { result: [] } },
  ])('fails with a typed error on %j', async (blocks) => {
    await expect(probeEndpoint(endpoint(blocks))).rejects.toMatchObject({
      name: 'TxlaneError',
      method: expect.any(String),
    })
  })
})
