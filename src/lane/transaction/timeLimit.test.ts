import { describe, expect, test } from 'vitest'
import { createPool } from '../../api/pool/pool.js'
import { openProcesses } from '../../api/sender/processes.fixture.js'
import { createMemberIn } from '../../api/sender/sender.js'
import {
  onSend,
  openLane,
  type SimLane,
  swallow,
  TIMES_OUT,
  transfer,
} from '../../api/sender/simLane.fixture.js'
import type { Sender, Tx } from '../../types/index.js'

const LATE = { code: 'WAIT_TIMEOUT' }

const ways: readonly [string, (lane: SimLane) => Pick<Sender, 'send'>][] = [
  ['a sender', ({ sender }) => sender],
  [
    'a pool',
    ({ environment, parameters }) => {
      const make = () => createMemberIn(environment, parameters)
      return createPool([make()], { make })
    },
  ],
]

/** The time until the promise rejects. */
async function rejected(lane: SimLane, work: Promise<unknown>) {
  const startMs = lane.clock.now()
  const error = await lane.rejection(work)
  return { error, tookMs: lane.clock.now() - startMs }
}

describe.each(ways)('send of %s with timeoutMs', (_, of) => {
  test('rejects without admission if no endpoint answers and the lane is not open, and does not send later', async () => {
    await using lane = await openLane({ closed: true })
    lane.chain.start()
    lane.refusal = (calls) => calls.map(() => TIMES_OUT)
    const sender = of(lane)
    const { error, tookMs } = await rejected(lane, sender.send(transfer(1), { timeoutMs: 700 }))
    expect(error).toMatchObject({ ...LATE, fate: 'notExecuted' })
    expect(tookMs).toBe(700)
    const named = await rejected(lane, sender.send(transfer(2), { id: 'a', timeoutMs: 700 }))
    // An earlier process may have sent it.
    expect(named.error).toMatchObject({ ...LATE, fate: 'inFlight' })
    expect(named.tookMs).toBe(700)
    lane.refusal = undefined
    await lane.settle((await lane.settle(sender.send(transfer(3)))).wait('sealed'))
    await lane.blocks(3)
    expect(lane.executed()).toEqual([3])
    await lane.settle((sender as Sender).close())
  })

  test('says that the transaction may be stored if the store does not answer', async () => {
    await using world = await openProcesses()
    const { lane } = world
    const process = world.start()
    const { environment, store } = process
    const parameters = { ...lane.parameters, store }
    const sender = of({ ...lane, sender: process.sender, environment, parameters } as SimLane)
    await lane.settle((sender as Sender).ready())
    process.storeIs(false)
    const sending = sender.send(transfer(1), { timeoutMs: 700 })
    const { error, tookMs } = await rejected(lane, sending)
    expect(error).toMatchObject({ ...LATE, fate: 'inFlight' })
    expect(tookMs).toBe(700)
    process.storeIs(true)
    await lane.until(() => lane.executed().length === 1)
    await lane.settle((sender as Sender).close())
  })

  test('rejects while an admitted transaction continues if no endpoint accepts it', async () => {
    await using lane = await openLane()
    const sender = of(lane)
    lane.script = onSend(() => TIMES_OUT)
    const { error, tookMs } = await rejected(lane, sender.send(transfer(1), { timeoutMs: 700, id: 'a' }))
    expect(error).toMatchObject({ ...LATE, fate: 'inFlight', tx: { id: 'a', stage: 'signed' } })
    expect(tookMs).toBe(700)
    lane.script = undefined
    const tx = await lane.settle(sender.send(transfer(1), { id: 'a', timeoutMs: 60_000 }))
    await lane.settle(tx.wait('sealed'))
    expect(lane.executed()).toEqual([1])
    await lane.settle((sender as Sender).close())
  })

  test('has no effect in time, and an invalid time is refused at once', async () => {
    await using lane = await openLane()
    const sender = of(lane)
    const tx = await lane.settle(sender.send(transfer(1), { timeoutMs: 60_000 }))
    await lane.settle(tx.wait('sealed'))
    for (const timeoutMs of [-1, Number.NaN, 2 ** 31, '5', null]) {
      const error = await lane.rejection(sender.send(transfer(2), { timeoutMs: timeoutMs as number }))
      expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
      expect(error.message).toContain('options.timeoutMs')
    }
    await lane.settle((sender as Sender).close())
  })
})

describe('cancel', () => {
  async function cancelled(lane: SimLane): Promise<Tx> {
    lane.script = swallow(1, 'noop')
    return lane.settle(lane.sender.send(transfer(1)))
  }

  test('ends the wait by its timeout and by its signal, and the cancel continues', async () => {
    await using lane = await openLane()
    const tx = await cancelled(lane)
    const { error, tookMs } = await rejected(lane, tx.cancel({ timeoutMs: 700 }))
    expect(error).toMatchObject({ ...LATE, fate: 'inFlight', tx: { id: tx.id } })
    expect(tookMs).toBe(700)
    const controller = new AbortController()
    const aborted = lane.rejection(tx.cancel({ signal: controller.signal }))
    controller.abort()
    expect(await aborted).toMatchObject({ code: 'ABORTED', fate: 'inFlight' })
    lane.script = swallow(1)
    expect(await lane.settle(tx.cancel({ timeoutMs: 60_000 }))).toEqual({ result: 'cancelled' })
    expect(lane.executed()).toEqual(['noop'])
  })

  test.each([{ timeoutMs: -1 }, { signal: 7 }, { timeout: 5 }, 'soon'])(
    'refuses the invalid options %o, and cancels nothing',
    async (options) => {
      await using lane = await openLane()
      const tx = await lane.settle(lane.sender.send(transfer(1)))
      expect(await lane.rejection(tx.cancel(options as never))).toMatchObject({ code: 'INVALID' })
      await lane.settle(tx.wait('sealed'))
      expect(lane.executed()).toEqual([1])
    },
  )
})

test('replace: ends the call at the timeout, and the replacement continues', async () => {
  await using lane = await openLane()
  lane.script = onSend(() => TIMES_OUT)
  const tx = await lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
  await lane.until(() => tx.stage === 'signed')
  const { error, tookMs } = await rejected(lane, tx.replace(transfer(2), { id: 'b', timeoutMs: 700 }))
  expect(error).toMatchObject({ ...LATE, fate: 'inFlight' })
  expect(tookMs).toBe(700)
  lane.script = undefined
  const next = await lane.settle(lane.sender.get('b'))
  await lane.settle(Promise.race([next?.wait('sealed'), tx.wait('sealed')]))
  expect(lane.executed()).toHaveLength(1)
})

test('refuses timeoutMs for sendSequence instead of ignoring it', async () => {
  await using lane = await openLane()
  const error = await lane.rejection(lane.sender.sendSequence([transfer(1)], { timeoutMs: 5 } as never))
  expect(error).toMatchObject({ code: 'INVALID' })
})
