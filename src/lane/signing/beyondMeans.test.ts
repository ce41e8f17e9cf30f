import { describe, expect, test } from 'vitest'
import { ACCOUNT, openLane, type SimLane, transfer } from '../../api/sender/simLane.fixture.js'
import type { Tx, TxRequest } from '../../types/index.js'

const ONE_ETHER = 10n ** 18n
const giant = (marker: number) => ({ ...transfer(marker), value: 100n * ONE_ETHER }) as TxRequest

const queued = (lane: SimLane, requests: readonly TxRequest[], options = {}): Promise<readonly Tx[]> =>
  lane.settle(
    Promise.all(requests.map((request) => lane.sender.send(request, { until: 'queued', ...options }))),
  )

const sealed = (lane: SimLane, txs: readonly Tx[]) =>
  lane.settle(Promise.all(txs.map((tx) => tx.wait('sealed'))))

const numbers = (count: number, from: number) => Array.from({ length: count }, (_, index) => index + from)

describe('a transaction that costs more than the account has steps aside for cheaper ones', () => {
  test('the others land, its waitingFor names the funds, and it lands once there is money', async () => {
    await using lane = await openLane()
    const [big, ...others] = await queued(lane, [giant(1), ...numbers(5, 2).map(transfer)])
    await sealed(lane, others)
    expect(lane.executed()).toEqual([2, 3, 4, 5, 6])
    expect(big?.stage).toBe('queued')
    expect(big?.waitingFor).toMatchObject({
      for: 'funds',
      sentence: expect.stringMatching(
        /^It waits for money: it may cost 100\d+ wei, and the account has \d+ wei\.$/,
      ),
    })
    expect(lane.events('reordered')).toMatchObject([{ tx: { id: big?.id } }])
    lane.chain.adjust({ address: ACCOUNT, balanceWei: 200n * ONE_ETHER })
    await sealed(lane, [big as Tx])
    expect(lane.executed()).toEqual([2, 3, 4, 5, 6, 1])
  })

  test('in the middle of a burst it delays no other transaction, and the lane does not become starved', async () => {
    await using lane = await openLane()
    const txs = await queued(lane, [
      ...numbers(30, 1).map(transfer),
      giant(31),
      ...numbers(30, 32).map(transfer),
    ])
    await sealed(
      lane,
      txs.filter((_, index) => index !== 30),
    )
    expect(lane.executed()).toHaveLength(60)
    expect(lane.chain.head.number).toBeLessThanOrEqual(8)
    await lane.settle((txs[30] as Tx).cancel())
  })

  test('the lane is starved if no queued transaction can be paid, but still sends later ones', async () => {
    await using lane = await openLane()
    const [first, second] = await queued(lane, [giant(1), giant(2)])
    await lane.until(() => lane.events('held').length > 0)
    expect(lane.events('held')).toEqual([{ reason: 'starved' }])
    await sealed(lane, await queued(lane, [transfer(3)]))
    expect(lane.executed()).toEqual([3])
    await lane.blocks(3)
    expect((await lane.snapshot()).holds).toEqual(['starved'])
    await lane.settle((first as Tx).cancel())
    await lane.settle((second as Tx).cancel())
    await lane.blocks(2)
    expect((await lane.snapshot()).holds).toEqual([])
  })

  test('it stays aside while others go on, and reordered is emitted once', async () => {
    await using lane = await openLane({ limits: { window: 2 } })
    const [big, ...others] = await queued(lane, [giant(1), ...numbers(40, 2).map(transfer)])
    await sealed(lane, others)
    expect(lane.events('reordered')).toHaveLength(1)
    await lane.settle((big as Tx).cancel())
  })

  test('an estimate that fails for lack of funds has the same effect', async () => {
    await using lane = await openLane()
    const { gas: _, ...request } = giant(1)
    const [big] = await queued(lane, [request as TxRequest])
    await lane.until(() => lane.events('held').length > 0)
    expect(lane.events('held')).toEqual([{ reason: 'starved' }])
    expect(big?.waitingFor).toMatchObject({ for: 'funds' })
    await sealed(lane, await queued(lane, [transfer(2)]))
    lane.chain.adjust({ address: ACCOUNT, balanceWei: 200n * ONE_ETHER })
    await sealed(lane, [big as Tx])
    expect(lane.executed()).toEqual([2, 1])
  })

  test('with order strict later transactions wait for it', async () => {
    await using lane = await openLane({ order: 'strict' })
    const [big] = await queued(lane, [giant(1), transfer(2)])
    await lane.blocks(5)
    expect(lane.executed()).toEqual([])
    lane.chain.adjust({ address: ACCOUNT, balanceWei: 200n * ONE_ETHER })
    await sealed(lane, [big as Tx])
    await lane.blocks(1)
    expect(lane.executed()).toEqual([1, 2])
  })

  test('it waits for the money that a transaction in flight brings in', async () => {
    await using lane = await openLane({ chain: { blockTimeMs: 2_000 } })
    const [brings, pays] = await queued(lane, [transfer(1), giant(2)])
    lane.chain.adjust({ address: ACCOUNT, balanceWei: 200n * ONE_ETHER })
    await sealed(lane, [brings as Tx, pays as Tx])
    expect(lane.executed()).toEqual([1, 2])
  })

  test('with starved: fail it ends once all earlier transactions have landed, while later ones go on', async () => {
    await using lane = await openLane({ chain: { blockTimeMs: 1_000 } })
    const before = await queued(lane, numbers(3, 1).map(transfer))
    await lane.until(() => before.every(({ nonce }) => nonce !== undefined))
    const [big] = await queued(lane, [giant(4)], { starved: 'fail' })
    const failed = lane.rejection((big as Tx).wait())
    // Keeps a transaction in flight at all times.
    const flow = (async () => {
      for (let marker = 5; marker < 60; marker++) {
        await lane.sender.send(transfer(marker), { until: 'queued' })
        await new Promise<void>((resolve) => void lane.clock.setTimer(resolve, 100))
      }
    })()
    const landedFirst = await failed.then((error) => {
      expect(error).toMatchObject({ code: 'STARVED', fate: 'notExecuted' })
      return before.every(({ stage }) => stage === 'sealed')
    })
    expect(landedFirst).toBe(true)
    expect(lane.executed().length).toBeLessThan(50)
    await lane.settle(flow)
    await lane.settle(lane.sender.drain())
  })

  test('with starved: fail an earlier transaction may still bring the money for it', async () => {
    await using lane = await openLane({ starved: 'fail', chain: { blockTimeMs: 2_000 } })
    const [brings] = await queued(lane, [transfer(1)])
    await lane.until(() => brings?.nonce !== undefined)
    const [pays] = await queued(lane, [giant(2)])
    await lane.clock.advance(500)
    lane.chain.adjust({ address: ACCOUNT, balanceWei: 200n * ONE_ETHER })
    await sealed(lane, [brings as Tx, pays as Tx])
    expect(lane.executed()).toEqual([1, 2])
  })

  test('the option starved: wait applies to one transaction in a lane with starved: fail', async () => {
    await using lane = await openLane({ starved: 'fail' })
    const [patient] = await queued(lane, [giant(1)], { starved: 'wait' })
    const [hasty] = await queued(lane, [giant(2)])
    expect(await lane.rejection((hasty as Tx).wait())).toMatchObject({ code: 'STARVED' })
    await lane.blocks(2)
    expect([patient?.stage, patient?.waitingFor?.for]).toEqual(['queued', 'funds'])
    lane.chain.adjust({ address: ACCOUNT, balanceWei: 200n * ONE_ETHER })
    await sealed(lane, [patient as Tx])
    expect(lane.executed()).toEqual([1])
  })

  test('an unknown value of the option is rejected with the name of the option', async () => {
    await using lane = await openLane()
    const error = await lane.rejection(lane.sender.send(transfer(1), { starved: 'never' as never }))
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect((error as Error).message).toContain('options.starved')
  })

  test('with starved: fail it ends, and the others land', async () => {
    await using lane = await openLane({ starved: 'fail' })
    const [big, ...others] = await queued(lane, [giant(1), transfer(2), transfer(3)])
    expect(await lane.rejection((big as Tx).wait('sealed'))).toMatchObject({ code: 'STARVED' })
    await sealed(lane, others)
    expect(lane.executed()).toEqual([2, 3])
  })
})
