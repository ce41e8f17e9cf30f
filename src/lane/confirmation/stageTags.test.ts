import { describe, expect, test } from 'vitest'
import { wireBlock } from '../../../test/sim/port/wire.js'
import { openLane, type SimLane, type SimLaneOptions, transfer } from '../../api/sender/simLane.fixture.js'
import type { Tx } from '../../types/index.js'

const MINUTES_20 = 1_200_000

/** The endpoint answers that it has none of the tags. */
function withoutTags(lane: SimLane): void {
  lane.script = ({ method, params }) =>
    method === 'eth_getBlockByNumber' && (params[0] === 'finalized' || params[0] === 'safe')
      ? { ok: false, failure: { kind: 'rpc', code: -39001, message: `${params[0]} block not found` } }
      : undefined
}

/** Sends a transaction, and returns it with the number of its block. */
async function sealedOn(lane: SimLane): Promise<{ readonly tx: Tx; readonly block: number }> {
  const tx = await lane.settle(lane.sender.send(transfer(1)))
  const { receipt } = await lane.settle(tx.wait('sealed'))
  return { tx, block: Number(receipt.blockNumber) }
}

describe("wait('finalized') resolves no earlier than the tag, and at most a minute later", () => {
  test.each<[string, NonNullable<SimLaneOptions['chain']>]>([
    ['2 s blocks', { blockTimeMs: 2_000, safeDepth: 100, finalizedDepth: 600 }],
    ['12 s blocks', { rules: 'geth', blockTimeMs: 12_000, safeDepth: 32, finalizedDepth: 96 }],
    ['200 ms blocks', { rules: 'geth', blockTimeMs: 200, safeDepth: 500, finalizedDepth: 3_000 }],
    ['2 s blocks, the tag 2 blocks behind', { blockTimeMs: 2_000, safeDepth: 1, finalizedDepth: 2 }],
    ['2 s blocks, the tag at the head', { blockTimeMs: 2_000, safeDepth: 0, finalizedDepth: 0 }],
  ])('%s', async (_, chain) => {
    await using lane = await openLane({ chain, lossDepth: 'child' })
    const { tx, block } = await sealedOn(lane)
    const { blockTimeMs, finalizedDepth } = lane.chain.settings
    const tag = () => lane.chain.head.number - finalizedDepth
    const done = tx.wait('finalized')
    let notBefore = lane.clock.now()
    while (tx.stage !== 'finalized') {
      if (tag() < block) notBefore = lane.clock.now()
      await lane.clock.advance(100)
    }
    await lane.settle(done)
    expect(tag()).toBeGreaterThanOrEqual(block)
    expect(lane.clock.now() - notBefore).toBeLessThanOrEqual(60_000 + 3 * blockTimeMs)
  })
})

describe('an endpoint without the tags', () => {
  test.each(['safe', 'finalized'] as const)(
    'UNSUPPORTED for %s, however long the caller waits, if nothing was declared',
    async (stage) => {
      await using lane = await openLane()
      withoutTags(lane)
      const { tx } = await sealedOn(lane)
      const error = await lane.rejection(tx.wait(stage))
      expect(error).toMatchObject({ code: 'UNSUPPORTED', fate: 'executed' })
      expect(error.message).toContain('finality')
      const head = lane.chain.head.number
      await lane.until(() => lane.chain.head.number === head + 200, MINUTES_20)
      expect(tx.stage).toBe('sealed')
    },
  )

  test.each(['safe', 'finalized'] as const)('%s at the declared depth', async (stage) => {
    await using lane = await openLane({ finality: { depth: 30 } })
    withoutTags(lane)
    const { tx, block } = await sealedOn(lane)
    expect(await lane.settle(tx.wait(stage))).toMatchObject({ stage: 'finalized' })
    expect(lane.chain.head.number).toBeGreaterThanOrEqual(block + 30)
    expect(lane.chain.head.number).toBeLessThanOrEqual(block + 32)
  })

  test.each(['safe', 'finalized'] as const)('%s after the declared time', async (stage) => {
    await using lane = await openLane({ finality: { afterMs: 60_000 } })
    withoutTags(lane)
    const { tx, block } = await sealedOn(lane)
    const from = lane.clock.now()
    expect(await lane.settle(tx.wait(stage))).toMatchObject({ stage: 'finalized' })
    expect(lane.chain.head.number - block).toBeGreaterThanOrEqual(30)
    expect(lane.clock.now() - from).toBeLessThan(70_000)
  })

  test('without a declaration, slots are pruned one hour after their block', async () => {
    await using lane = await openLane({ chain: { rules: 'geth', blockTimeMs: 12_000 } })
    withoutTags(lane)
    const { tx, block } = await sealedOn(lane)
    await lane.until(() => lane.chain.head.number === block + 299, MINUTES_20 * 4)
    expect(tx.stage).toBe('sealed')
    await lane.until(() => lane.chain.head.number === block + 310, MINUTES_20 * 4)
    expect(tx.stage).toBe('finalized')
  })

  test('a declared finality changes nothing where the endpoint has the tag', async () => {
    await using lane = await openLane({ chain: { finalizedDepth: 100 }, finality: { depth: 1 } })
    const { tx, block } = await sealedOn(lane)
    await lane.settle(tx.wait('finalized'), MINUTES_20)
    expect(lane.chain.head.number).toBeGreaterThanOrEqual(block + 100)
  })
})

test('two endpoints, the first without the tag: the wait is refused, and served once the other is read', async () => {
  await using lane = await openLane()
  const { tx } = await sealedOn(lane)
  withoutTags(lane)
  expect(await lane.rejection(tx.wait('finalized'))).toMatchObject({ code: 'UNSUPPORTED' })
  // The endpoint has the tag again, as the other one does.
  lane.script = undefined
  let error: unknown
  for (let tries = 0; tries < 40; tries++) {
    await lane.blocks(1)
    error = await lane.settle(
      tx.wait('finalized').then(
        () => undefined,
        (one: unknown) => one,
      ),
    )
    if (error === undefined) break
  }
  expect([error, tx.stage]).toEqual([undefined, 'finalized'])
})

test('a tag that moves while no block comes is applied', async () => {
  await using lane = await openLane({ chain: { finalizedDepth: 5_000 } })
  const { tx, block } = await sealedOn(lane)
  await lane.blocks(2)
  lane.chain.stop()
  const head = lane.chain.head.number
  lane.script = ({ method, params }) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'finalized') return undefined
    const shown = lane.chain.canonical.find(({ number }) => number === block)
    return shown && { ok: true, result: wireBlock(shown, false, lane.chain.settings) }
  }
  expect(await lane.settle(tx.wait('finalized'), MINUTES_20)).toMatchObject({ stage: 'finalized' })
  expect(lane.chain.head.number).toBe(head)
})
