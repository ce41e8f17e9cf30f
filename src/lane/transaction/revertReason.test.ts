import { BaseError, encodeErrorResult, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'
import { programRequest } from '../../../test/sim/program.js'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import { openLane, type Script } from '../../api/sender/simLane.fixture.js'
import type { RpcReply } from '../../rpc/port.js'
import type { TxRequest } from '../../types/index.js'

const request = { ...programRequest({ kind: 'revert', marker: 1 }), gas: 60_000n } as TxRequest
const data = encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: ['not today'] })
const failure = { kind: 'rpc', code: 3, message: 'execution reverted: not today', data } as const

/** The node replays the transaction and returns the revert data. Counts the replays, with their blocks. */
function replays(reply: RpcReply): { script: Script; readonly blocks: unknown[] } {
  const blocks: unknown[] = []
  return {
    blocks,
    script({ method, params }) {
      if (method !== 'eth_call') return undefined
      blocks.push((params as readonly unknown[])[1])
      return reply
    },
  }
}

describe('the revert data of a transaction that reverted in its block', () => {
  test('is in its record, in every process and after a restart', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const [leader, standby] = await world.pair()
    const { script, blocks } = replays({ ok: false, failure })
    lane.script = script
    const tx = await lane.settle(leader.sender.send(request, { id: 'a' }))
    const landed = await lane.settle(tx.wait('sealed'))
    await lane.clock.advance(3_000)
    const said = { code: 'REVERTED', fate: 'executed', reason: 'not today', data }
    expect(tx.toJSON().error).toMatchObject(said)
    expect(blocks).toEqual([`0x${landed.receipt.blockNumber.toString(16)}`])
    expect((await lane.settle(standby.sender.get('a')))?.toJSON().error).toMatchObject(said)
    await lane.settle(Promise.all([leader.sender.close(), standby.sender.close()]))
    const later = world.start()
    expect((await lane.settle(later.sender.get('a')))?.toJSON().error).toMatchObject(said)
  })

  test("is in the error of a wait with throwOnRevert, where viem's decoders expect it", async () => {
    await using lane = await openLane()
    const { script, blocks } = replays({ ok: false, failure })
    lane.script = script
    const tx = await lane.settle(lane.sender.send(request))
    const waits = [1, 2].map(() => lane.rejection(tx.wait('sealed', { throwOnRevert: true })))
    for (const error of await Promise.all(waits)) {
      expect(error).toMatchObject({ code: 'REVERTED', fate: 'executed' })
      const cause = error.walk((one) => (one as { data?: unknown }).data === data)
      expect(cause).toBeInstanceOf(BaseError)
    }
    expect(blocks).toHaveLength(1)
  })

  test.each([
    ['the transaction succeeds on that state', { ok: true, result: '0x' }],
    [
      'the state is pruned',
      { ok: false, failure: { kind: 'rpc', code: -32000, message: 'missing trie node' } },
    ],
    ['the revert data is empty', { ok: false, failure: { ...failure, data: '0x' } }],
    [
      'the revert data is too long to be stored',
      { ok: false, failure: { ...failure, data: `0x${'00'.repeat(2_000)}` } },
    ],
    ['the revert data is not hex', { ok: false, failure: { ...failure, data: 'reverted' } }],
    ['no endpoint answers', { ok: false, failure: { kind: 'timeout', message: 'no answer in time' } }],
  ] as const)('is unknown where %s; that it reverted is known', async (_, reply) => {
    await using lane = await openLane()
    lane.script = replays(reply as RpcReply).script
    const tx = await lane.settle(lane.sender.send(request))
    const error = await lane.rejection(tx.wait('sealed', { throwOnRevert: true }))
    expect(error).toMatchObject({ code: 'REVERTED', fate: 'executed' })
    expect(error.cause).toBeUndefined()
    expect(tx.toJSON().error).toEqual({
      code: 'REVERTED',
      fate: 'executed',
      message: 'It executed and reverted.',
    })
  })

  test('is read from the object in which Hardhat and Ganache return it', async () => {
    await using lane = await openLane()
    lane.script = replays({ ok: false, failure: { ...failure, data: { message: 'reverted', data } } }).script
    const tx = await lane.settle(lane.sender.send(request))
    await lane.settle(tx.wait('sealed'))
    await lane.clock.advance(1_000)
    expect(tx.toJSON().error?.reason).toBe('not today')
  })

  test('is not requested for a successful transaction', async () => {
    await using lane = await openLane()
    const { script, blocks } = replays({ ok: false, failure })
    lane.script = script
    const tx = await lane.settle(
      lane.sender.send(programRequest({ kind: 'transfer', marker: 2 }) as TxRequest),
    )
    await lane.settle(tx.wait('sealed', { throwOnRevert: true }))
    expect(blocks).toEqual([])
  })
})
