import { describe, expect, test } from 'vitest'
import { liar, openSeveral, otherChain, type Several } from '../../api/sender/severalEndpoints.fixture.js'
import { transfer } from '../../api/sender/simLane.fixture.js'
import { profileOf } from '../../rpc/profile.js'

/** Something waits, so that the poller looks all the time. */
async function busy(several: Several): Promise<void> {
  const { lane, sender } = several
  const tx = await lane.settle(sender.send(transfer(1), { until: 'queued' }))
  void tx.wait('finalized').catch(() => {})
  await lane.settle(tx.wait('sealed'))
}

describe('the healthiest endpoint is read for as long as it stays healthy', () => {
  test('it stops answering: another endpoint is read within seconds, and transactions land', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    await busy(several)
    if (endpoints[0]) endpoints[0].state = 'refuses'
    await lane.until(() => several.changes().includes('e1 reader'), 6_000)
    expect(several.changes()).toEqual(['e0 down', 'e1 reader'])
    const tx = await lane.settle(sender.send(transfer(2)))
    await lane.settle(tx.wait('sealed'))
    expect(several.events('reorged')).toEqual([])
    expect(lane.executed()).toEqual([1, 2])
  })

  test('it hangs: the lane waits for it no longer than one read timeout', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, endpoints } = several
    await busy(several)
    if (endpoints[0]) endpoints[0].state = 'hangs'
    await lane.until(() => several.changes().includes('e1 reader'), 7_000)
  })

  test('it fails once: the reader stays', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, endpoints } = several
    await busy(several)
    if (endpoints[0]) endpoints[0].state = 'refuses'
    await lane.clock.advance(400)
    if (endpoints[0]) endpoints[0].state = 'up'
    await lane.clock.advance(30_000)
    expect(several.changes()).toEqual([])
  })

  test('it fails repeatedly: the reader does not change back and forth', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    await busy(several)
    for (let round = 0; round < 6; round++) {
      if (endpoints[0]) endpoints[0].state = 'refuses'
      await lane.settle(sender.send(transfer(round + 2), { until: 'queued' }))
      await lane.clock.advance(8_000)
      if (endpoints[0]) endpoints[0].state = 'up'
      await lane.clock.advance(8_000)
    }
    expect(several.changes().filter((change) => change.endsWith('reader'))).toEqual(['e1 reader'])
  })

  test('gas, fees and counts are read from the current reader', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [former, current] = endpoints
    await busy(several)
    if (former) former.state = 'refuses'
    await lane.until(() => several.changes().includes('e1 reader'))
    const [before = 0, methods] = [former?.calls.length, () => current?.calls.map(({ method }) => method)]
    const { gas: _, ...request } = transfer(2) as { gas?: bigint }
    const tx = await lane.settle(sender.send(request as never))
    await lane.settle(tx.wait('sealed'))
    expect(methods()).toEqual(expect.arrayContaining(['eth_estimateGas', 'eth_maxPriorityFeePerGas']))
    const reads = former?.calls.slice(before).map(({ method }) => method)
    expect(reads).not.toContain('eth_estimateGas')
  })

  test('it stops following the chain: an endpoint with higher blocks is read, without a reorg', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, endpoints } = several
    await busy(several)
    const [frozen] = endpoints
    const frozenMs = lane.clock.now()
    const freeze = () => {
      if (frozen) frozen.lagMs = lane.clock.now() - frozenMs
    }
    await lane.until(() => {
      freeze()
      return several.changes().includes('e1 reader')
    }, 40_000)
    await lane.blocks(2)
    expect(several.events('reorged')).toEqual([])
    expect((await lane.settle(several.sender.snapshot())).head?.number).toBeGreaterThanOrEqual(
      lane.chain.head.number - 1,
    )
  })

  test('a lagging replica is not read before it has the walked blocks', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, endpoints } = several
    await busy(several)
    const [gone, lagging] = endpoints
    if (lagging) lagging.lagMs = 9_000
    if (gone) gone.state = 'refuses'
    await lane.clock.advance(5_000)
    expect(several.changes()).toEqual([])
    await lane.until(() => several.changes().includes('e1 reader'), 20_000)
    await lane.blocks(2)
    expect(several.events('reorged')).toEqual([])
  })

  test('an endpoint that invents blocks is never read, not even if no other endpoint answers', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    await busy(several)
    const [former, lying] = endpoints
    if (lying) lying.script = liar
    const before = await lane.settle(sender.snapshot())
    await lane.clock.advance(20_000)
    if (former) former.state = 'refuses'
    const tx = await lane.settle(sender.send(transfer(2), { until: 'queued' }))
    await lane.clock.advance(90_000)
    expect(several.changes().filter((change) => change === 'e1 reader')).toEqual([])
    const after = await lane.settle(sender.snapshot())
    expect([after.floor, after.holds]).toEqual([before.floor, before.holds])
    expect(after.head?.number).toBeLessThan(10_000)
    if (former) former.state = 'up'
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1, 2])
  })

  test('an endpoint that invents blocks is not read either while only the first block was walked, which every endpoint knows', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    const [former, lying] = endpoints
    if (lying) lying.script = liar
    if (former) former.state = 'refuses'
    const tx = await lane.settle(sender.send(transfer(1), { until: 'queued' }))
    await lane.clock.advance(30_000)
    expect(several.changes().filter((change) => change === 'e1 reader')).toEqual([])
    if (former) former.state = 'up'
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
  })

  test('the reader and its last block are gone: the longer chain of another endpoint is a reorg', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    await busy(several)
    const tx = await lane.settle(sender.send(transfer(2)))
    await lane.settle(tx.wait('sealed'))
    if (endpoints[0]) endpoints[0].state = 'refuses'
    lane.chain.reorg({ depth: 1, inclusion: 0, drops: () => true, forced: [] })
    await lane.until(() => several.changes().includes('e1 reader'), 30_000)
    await lane.until(() => lane.executed().includes(2), 60_000)
    await lane.blocks(3)
    expect(lane.executed()).toEqual([1, 2])
    expect(tx.stage).not.toBe('failed')
  })

  test('an endpoint with a higher count becomes the reader after it was better for a minute, not before', async () => {
    await using several = await openSeveral(['both', 'both'], { chain: { rules: 'latest' } })
    const { lane, sender, endpoints } = several
    const better = endpoints[1] && profileOf(endpoints[1].port)
    for (const sentUpTo of [5, 6])
      better?.observe({ kind: 'countAfterSend', sentFrom: 5, sentUpTo, count: 9, atMs: 10 })
    const beganMs = lane.clock.now()
    for (let marker = 1; several.changes().length === 0 && marker < 40; marker++) {
      await lane.settle(sender.send(transfer(marker)))
      await lane.clock.advance(3_000)
    }
    expect(several.changes()).toEqual(['e1 reader'])
    expect(lane.clock.now() - beganMs).toBeGreaterThanOrEqual(60_000)
  })
})

describe('an endpoint on another chain', () => {
  test('as the reader: its answers are ignored, another endpoint is read, and an event is emitted', async () => {
    await using several = await openSeveral(['both', 'both'])
    const { lane, sender, endpoints } = several
    await busy(several)
    const before = await lane.settle(sender.snapshot())
    if (endpoints[0]) endpoints[0].script = otherChain
    await lane.until(() => several.changes().includes('e1 reader'), 30_000)
    expect(several.changes()).toEqual(['e0 wrongChain', 'e1 reader'])
    const after = await lane.settle(sender.snapshot())
    expect([after.floor, after.holds]).toEqual([before.floor, before.holds])
    const tx = await lane.settle(sender.send(transfer(2)))
    await lane.settle(tx.wait('sealed'))
    // Nothing is handed to it any more either.
    expect(endpoints[0]?.sent).toEqual([1])
    expect(several.events('reorged')).toEqual([])
  })

  test('after an outage: it is compared with our chain before its blocks are accepted', async () => {
    await using several = await openSeveral(['both', 'read'])
    const { lane, sender, endpoints } = several
    const [reader, other] = endpoints
    await busy(several)
    if (other) other.state = 'refuses'
    if (reader) reader.state = 'refuses'
    await lane.clock.advance(20_000)
    const asked = reader?.calls.length ?? 0
    if (reader) Object.assign(reader, { state: 'up', script: otherChain })
    await lane.clock.advance(20_000)
    // In the very request that brings the first block, before any other is fetched.
    const since = reader?.calls.slice(asked).map(({ method, params }) => `${method} ${params[0] ?? ''}`) ?? []
    const fetched = since.findIndex((call) => /^eth_getBlockByNumber 0x[1-9a-f]/.test(call))
    expect(since.slice(0, fetched === -1 ? 10 : fetched)).toContain('eth_chainId ')
    const { holds, floor } = await lane.settle(sender.snapshot())
    expect([holds, floor]).toEqual([[], 1])
    expect(several.changes()).toContain('e0 wrongChain')
    if (reader) reader.script = undefined
    await lane.until(() => several.changes().includes('e0 up'), 70_000)
    expect(several.events('reorged')).toEqual([])
  })

  test.each([3_000, 40_000])(
    'alone, for %i ms: the lane goes on within three blocks of its return',
    async (awayMs) => {
      await using several = await openSeveral(['both'])
      const { lane, sender, endpoints } = several
      await busy(several)
      const [reader] = endpoints
      if (reader) reader.script = otherChain
      await lane.until(() => several.changes().includes('e0 wrongChain'), 15_000)
      const before = reader?.calls.length ?? 0
      await lane.clock.advance(awayMs)
      // A few calls check its identity about once a second.
      expect((reader?.calls.length ?? 0) - before).toBeLessThanOrEqual(8 * (awayMs / 1_000 + 2))
      if (reader) reader.script = undefined
      const tx = await lane.settle(sender.send(transfer(2), { until: 'queued' }))
      const backMs = lane.clock.now()
      await lane.until(() => lane.executed().includes(2), 60_000)
      expect(lane.clock.now() - backMs).toBeLessThanOrEqual(3 * 2_000)
      await lane.settle(tx.wait('sealed'))
    },
  )

  test('beside the reader: it is left out with an event, and used again once it is on our chain', async () => {
    await using several = await openSeveral(['both', 'both'], { broadcast: 'all' })
    const { lane, sender, endpoints } = several
    await busy(several)
    const [, other] = endpoints
    if (other) other.script = otherChain
    await lane.until(() => several.changes().includes('e1 wrongChain'), 15_000)
    await lane.settle(sender.send(transfer(2)))
    expect(other?.sent).toEqual([1])
    if (other) other.script = undefined
    await lane.until(() => several.changes().includes('e1 up'), 70_000)
    await lane.settle(sender.send(transfer(3)))
    expect(other?.sent).toEqual([1, 3])
  })

  test('at open: CHAIN_MISMATCH, for any of the endpoints', async () => {
    for (const wrong of [0, 1]) {
      await using several = await openSeveral(['both', 'read'], {
        closed: true,
        before: (endpoints) => {
          const endpoint = endpoints[wrong]
          if (endpoint) endpoint.script = otherChain
        },
      })
      const error = await several.lane.rejection(several.sender.ready())
      expect(error.code).toBe('CHAIN_MISMATCH')
    }
  })
})

describe('endpoints that are down', () => {
  test('all of them: transactions wait, and land once one endpoint is back', async () => {
    await using several = await openSeveral(['both', 'both', 'send'])
    const { lane, sender, endpoints } = several
    await busy(several)
    for (const endpoint of endpoints) endpoint.state = 'refuses'
    const tx = await lane.settle(sender.send(transfer(2), { until: 'queued' }))
    await lane.clock.advance(60_000)
    if (endpoints[1]) endpoints[1].state = 'up'
    await lane.settle(tx.wait('sealed'), 60_000)
    expect(lane.executed()).toEqual([1, 2])
  })

  test('one of them at open: the others are used, and this one too once it answers', async () => {
    await using several = await openSeveral(['both', 'both'], {
      broadcast: 'all',
      before: ([, second]) => {
        if (second) second.state = 'refuses'
      },
    })
    const { lane, sender, endpoints } = several
    const [, second] = endpoints
    await busy(several)
    expect(second?.sent).toEqual([])
    if (second) second.state = 'up'
    await lane.until(() => several.changes().includes('e1 up'), 70_000)
    await lane.settle(sender.send(transfer(2)))
    expect(second?.sent).toEqual([2])
  })
})

describe.each([{ roles: ['both'] as const }, { roles: ['both', 'both'] as const }])(
  '$roles: the one that is read shows another chain for a moment',
  ({ roles }) => {
    test('before its first head: transactions land once it is back', async () => {
      await using several = await openSeveral(roles)
      const { lane, sender, endpoints } = several
      const [read] = endpoints
      if (read) read.script = otherChain
      const tx = await lane.settle(sender.send(transfer(1), { until: 'queued' }))
      await lane.clock.advance(1_500)
      if (read) read.script = undefined
      await lane.settle(tx.wait('sealed'))
      expect(lane.executed()).toEqual([1])
    })

    test('a block that is final on another chain is not final here', async () => {
      await using several = await openSeveral(roles)
      const { lane, sender, endpoints } = several
      await busy(several)
      const [read] = endpoints
      if (read) read.script = otherChain
      await lane.clock.advance(1_500)
      if (read) read.script = undefined
      const tx = await lane.settle(sender.send(transfer(2), { until: 'queued' }))
      await lane.settle(tx.wait('sealed'))
      expect(tx.stage).toBe('sealed')
      expect(several.events('reorged')).toEqual([])
    })
  },
)

test('while idle there are no requests; with one endpoint nothing is compared', async () => {
  for (const roles of [['both'], ['both', 'both']] as const) {
    await using several = await openSeveral(roles)
    const { lane, endpoints } = several
    await lane.clock.advance(60_000)
    const asked = () => endpoints.reduce((sum, { calls }) => sum + calls.length, 0)
    const before = asked()
    await lane.clock.advance(120_000)
    expect(asked()).toBe(before)
    const [only] = endpoints
    // When it is opened, on both sides of its first head, and in each of the two readings that the lane begins with.
    if (roles.length === 1)
      expect(only?.calls.filter(({ method }) => method === 'eth_chainId')).toHaveLength(5)
  }
})
