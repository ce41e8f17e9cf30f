import { describe, expect, test } from 'vitest'
import { programRequest } from '../../../test/sim/program.js'
import { ONE_ETHER, openPools, type Pools, transfer } from '../../api/pool/poolRelief.fixture.js'
import { openLane, refuses, type SimLane, type SimLaneOptions } from '../../api/sender/simLane.fixture.js'
import type { GroupPolicy, SendOptions, Tx, TxRequest } from '../../types/index.js'

const markers = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)

/** A chain with room for this many transfers per block, and a node whose pool accepts every transaction. */
const chainWith = (perBlock: number): SimLaneOptions => ({
  balanceWei: 1_000n * ONE_ETHER,
  chain: { rules: 'geth', gasLimit: perBlock * 21_000, transactionsPerStepMax: perBlock, gappedMax: 5_000 },
})

function queue(
  lane: SimLane,
  from: number,
  count: number,
  group?: string,
  options: SendOptions = {},
): Promise<Tx[]> {
  const send = (marker: number) =>
    lane.sender.send(transfer(marker), { until: 'queued', id: `tx-${marker}`, group, ...options })
  return lane.settle(Promise.all(markers(from, count).map(send)))
}

const sealed = (lane: SimLane, sent: readonly Tx[]) =>
  lane.settle(Promise.all(sent.map((tx) => tx.wait('sealed'))), 600_000)

/** Number of blocks until the transaction landed, starting with the next block. */
async function blocksFor(lane: SimLane, send: () => Promise<Tx>): Promise<number> {
  const before = lane.chain.canonical.length
  const tx = await lane.settle(send())
  await lane.settle(tx.wait('sealed'), 600_000)
  return (
    lane.chain.canonical.findIndex(({ executed }) => executed.some(({ tx: one }) => one.hash === tx.hash)) -
    before +
    1
  )
}

describe('a lane with transactions in groups', () => {
  test('lands a transaction of another group within two blocks, however many are queued before it', async () => {
    await using lane = await openLane(chainWith(50))
    const many = await queue(lane, 0, 1_500, 'many')
    const waits: number[] = []
    for (const marker of markers(5_000, 5)) {
      await lane.blocks(1)
      waits.push(await blocksFor(lane, () => lane.sender.send(transfer(marker), { group: 'one' })))
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(2)
    expect(many.at(-1)?.stage).toBe('queued')
    await sealed(lane, many)
  })

  test('fills its blocks although the groups are bounded', async () => {
    await using lane = await openLane(chainWith(50))
    const many = await queue(lane, 0, 600, 'many')
    await sealed(lane, many)
    const filled = lane.chain.canonical.map(({ executed }) => executed.length).filter((count) => count > 0)
    // The first and the last block may be filled in part.
    expect(filled.slice(1, -1).every((count) => count === 50)).toBe(true)
  })

  test('without groups it sends in order of arrival, and as many at once as the node accepts', async () => {
    await using lane = await openLane(chainWith(50))
    const many = await queue(lane, 0, 300)
    await lane.until(() => many.every(({ nonce }) => nonce !== undefined))
    expect(many.map(({ nonce }) => nonce)).toEqual(markers(0, 300))
    expect(lane.chain.canonical.flatMap(({ executed }) => executed).length).toBeLessThan(100)
    await sealed(lane, many)
  })

  test('shares nonces by weight', async () => {
    const groups: GroupPolicy = { each: { weight: 1 }, named: { big: { weight: 3 } } }
    await using lane = await openLane({ ...chainWith(40), groups })
    lane.sender.pause()
    const big = await queue(lane, 0, 200, 'big')
    const small = await queue(lane, 200, 200, 'small')
    lane.sender.resume()
    await lane.until(() => big.filter(({ nonce }) => nonce !== undefined).length >= 90)
    const going = small.filter(({ nonce }) => nonce !== undefined).length
    expect(Math.abs(going - 30)).toBeLessThanOrEqual(2)
    await sealed(lane, [...big, ...small])
    for (const own of [big, small])
      expect(own.map(({ nonce }) => nonce)).toEqual(own.map(({ nonce }) => nonce).toSorted((a, b) => a! - b!))
  })

  test('transactions without a group take turns with the groups, and neither side starves', async () => {
    await using lane = await openLane(chainWith(20))
    const named = await queue(lane, 0, 100, 'named')
    const others = await queue(lane, 200, 100)
    await sealed(lane, [...named.slice(0, 40), ...others.slice(0, 40)])
    await sealed(lane, [...named, ...others])
  })

  test('`waitingFor` names the bound that holds a group back', async () => {
    await using lane = await openLane({ ...chainWith(20), groups: { named: { capped: { inFlightMax: 2 } } } })
    const capped = await queue(lane, 0, 10, 'capped')
    await lane.until(() => capped.filter(({ nonce }) => nonce !== undefined).length === 2)
    expect(capped[5]?.waitingFor).toMatchObject({ for: 'group', group: 'capped', bound: 'inFlightMax' })
    const many = await queue(lane, 100, 60, 'many')
    await lane.until(() => many.some(({ nonce }) => nonce !== undefined))
    expect(many.at(-1)?.waitingFor).toMatchObject({ for: 'group', bound: 'blockGas' })
    expect((await lane.snapshot()).waiting.by.group).toBeGreaterThan(0)
    await sealed(lane, [...capped, ...many])
  })

  test('a group at its inFlightMax does not delay other groups', async () => {
    await using lane = await openLane({
      ...chainWith(100),
      groups: { named: { capped: { inFlightMax: 3 } } },
    })
    const capped = await queue(lane, 0, 30, 'capped')
    const others = await queue(lane, 100, 60, 'other')
    const inFlight = () =>
      capped.filter(({ nonce, stage }) => nonce !== undefined && stage !== 'sealed').length
    let most = 0
    await lane.until(() => {
      most = Math.max(most, inFlight())
      return others.every(({ nonce }) => nonce !== undefined)
    })
    expect(most).toBe(3)
    await sealed(lane, [...capped, ...others])
  })

  test('rejects transactions beyond the queueMax of a group at once, and those of no other group', async () => {
    await using lane = await openLane({
      ...chainWith(100),
      groups: { each: { queueMax: 5 }, named: { big: { queueMax: 8 } } },
    })
    lane.sender.pause()
    const small = await queue(lane, 0, 5, 'small')
    const big = await queue(lane, 10, 8, 'big')
    const none = await queue(lane, 30, 20)
    for (const [marker, group, max] of [
      [100, 'small', 5],
      [101, 'big', 8],
    ] as const) {
      const error = await lane.rejection(lane.sender.send(transfer(marker), { group, until: 'queued' }))
      expect(error).toMatchObject({ code: 'QUEUE_FULL', fate: 'notExecuted' })
      expect(error.shortMessage).toContain(`"${group}"`)
      expect(error.shortMessage).toContain(String(max))
    }
    const sequence = lane.sender.sendSequence([transfer(200), transfer(201)], {
      group: 'other',
      until: 'queued',
    })
    expect(await lane.settle(sequence)).toHaveLength(2)
    expect(
      await lane.rejection(
        lane.sender.sendSequence(markers(300, 4).map(transfer), { group: 'other', until: 'queued' }),
      ),
    ).toMatchObject({ code: 'QUEUE_FULL' })
    // A resend with a known id needs no room, and a cancelled transaction makes room.
    const again = await queue(lane, 0, 1, 'small')
    expect(again[0]).toBe(small[0])
    await lane.settle(small[4]!.cancel())
    await queue(lane, 400, 1, 'small')
    lane.sender.resume()
    await sealed(lane, [...small.slice(0, 4), ...big, ...none])
  })

  test('estimates the gas of the groups in turns as well', async () => {
    await using lane = await openLane({ ...chainWith(100), limits: { prepareMax: 2 } })
    const call = (marker: number) => programRequest({ kind: 'call', marker }) as TxRequest
    const many = markers(0, 200).map((marker) =>
      lane.sender.send(call(marker), { until: 'queued', group: 'many' }),
    )
    await lane.settle(Promise.all(many))
    const before = lane.requests.flat().filter(({ method }) => method === 'eth_estimateGas').length
    const tx = await lane.settle(lane.sender.send(call(1_000), { until: 'queued', group: 'one' }))
    await lane.until(() => tx.nonce !== undefined)
    const asked = lane.requests.flat().filter(({ method }) => method === 'eth_estimateGas').length - before
    expect(asked).toBeLessThan(20)
  })

  test('rejects a reverting transaction of one group while another group sends without end', async () => {
    await using lane = await openLane(chainWith(20))
    let failed = 0
    lane.script = ({ method, params }) => {
      if (method !== 'eth_estimateGas') return undefined
      return JSON.stringify(params).includes('dead') ? refuses('execution reverted', 3) : undefined
    }
    let busy = true
    let marker = 0
    const sending = (async () => {
      while (busy) await lane.sender.send(transfer(marker++), { group: 'many' }).catch(() => failed++)
    })()
    const others = Promise.all(
      markers(500, 20).map((one) => lane.sender.send(transfer(one), { group: 'many' })),
    )
    const bad: TxRequest = { to: '0x000000000000000000000000000000000000dead' } as TxRequest
    const error = await lane.rejection(lane.sender.send(bad, { group: 'one' }), 60_000)
    expect(error).toMatchObject({ code: 'PREPARE_REVERTED', fate: 'notExecuted' })
    busy = false
    await lane.settle(Promise.all([sending, others]))
    expect(failed).toBe(0)
  })
})

describe('a sender pool with transactions in groups', () => {
  const RICH = 1_000n * ONE_ETHER

  const send = ({ lane, pool }: Pools, from: number, count: number, group: string) =>
    lane.settle(
      Promise.all(
        markers(from, count).map((marker) =>
          pool.send(transfer(marker), { until: 'queued', id: `tx-${marker}`, group }),
        ),
      ),
    )

  test('bounds the in-flight and queued transactions of a group over all keys of the pool', async () => {
    const groups: GroupPolicy = { each: { inFlightMax: 6, queueMax: 100 } }
    await using pools = await openPools([RICH, RICH, RICH], { ...chainWith(100), groups })
    const { lane, pool } = pools
    const sent = await send(pools, 0, 60, 'tenant')
    let most = 0
    await lane.until(() => {
      most = Math.max(
        most,
        sent.filter(({ nonce, stage }) => nonce !== undefined && stage !== 'sealed').length,
      )
      return sent.every(({ stage }) => stage === 'sealed')
    }, 600_000)
    // A key sees the counts of the other keys only with its own turn.
    expect(most).toBeLessThanOrEqual(8)
    pool.pause()
    await send(pools, 100, 100, 'tenant')
    const error = await lane.rejection(pool.send(transfer(300), { group: 'tenant' }))
    expect(error).toMatchObject({ code: 'QUEUE_FULL', fate: 'notExecuted' })
    await send(pools, 400, 1, 'other')
    pool.resume()
    await lane.settle(pool.drain(), 600_000)
  })

  test('lands a transaction of another group within two blocks', async () => {
    await using pools = await openPools([RICH, RICH, RICH], chainWith(60))
    const { lane, pool } = pools
    const many = await send(pools, 0, 900, 'many')
    await lane.blocks(2)
    const waits: number[] = []
    for (const marker of markers(2_000, 4)) {
      const before = lane.chain.canonical.length
      const tx = await lane.settle(pool.send(transfer(marker), { group: 'one' }))
      await lane.settle(tx.wait('sealed'), 600_000)
      const at = lane.chain.canonical.findIndex(({ executed }) =>
        executed.some((one) => one.tx.hash === tx.hash),
      )
      waits.push(at - before + 1)
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(2)
    expect(many.some(({ stage }) => stage === 'queued')).toBe(true)
    await lane.settle(pool.drain(), 600_000)
  })
})
