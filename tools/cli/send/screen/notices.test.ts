import { expect, test } from 'vitest'
import {
  ACCOUNT,
  onSend,
  openLane,
  refuses,
  type SimLane,
  TIMES_OUT,
  transfer,
} from '../../../../src/api/sender/simLane.fixture.js'
import type { Sender } from '../../../../src/index.js'
import { createNotices } from './notices.js'

function follow(lane: SimLane, moved: () => string = () => '') {
  const said: string[] = []
  const progress = { say: (text: string) => void said.push(text), start() {}, stop() {} }
  const notices = createNotices(lane.sender as unknown as Sender, { progress, clock: lane.clock, moved })
  return { said, notices }
}

test('reports a failing endpoint once, and once more when it answers again', async () => {
  await using lane = await openLane()
  const { said, notices } = follow(lane)
  lane.script = () => TIMES_OUT
  const sent = Promise.allSettled([1, 2, 3].map((marker) => lane.sender.send(transfer(marker))))
  await lane.clock.advance(20_000)
  expect(said.filter((line) => line.includes('does not answer usefully'))).toHaveLength(1)
  expect(said[0]).toContain('sim does not answer usefully: "no answer in time"')
  lane.script = undefined
  await lane.settle(sent)
  expect(said.at(-1)).toBe('sim answers again.')
  notices.stop()
})

test('reports a flapping endpoint once a minute, with the number of repeats', async () => {
  await using lane = await openLane({ limits: { restMsMax: 1_000 } })
  const { said, notices } = follow(lane)
  const sent = Promise.allSettled([1, 2, 3].map((marker) => lane.sender.send(transfer(marker))))
  for (let round = 0; round < 30; round++) {
    lane.script = () => TIMES_OUT
    await lane.clock.advance(3_000)
    lane.script = undefined
    await lane.clock.advance(1_000)
    lane.sender.send(transfer(10 + round)).catch(() => {})
  }
  await lane.settle(sent)
  const changes = lane.events('endpoint').filter(({ change }) => change === 'failing')
  expect(changes.length).toBeGreaterThan(4)
  const lines = said.filter((line) => line.includes('does not answer usefully'))
  expect(lines).toHaveLength(2)
  expect(lines[1]).toMatch(/\(\d+ more times since\)$/)
  expect(said.filter((line) => line.includes('answers again')).length).toBeLessThanOrEqual(2)
  notices.stop()
})

test('reports missing funds once with the required amount, and the end of the hold', async () => {
  await using lane = await openLane({ balanceWei: 1n })
  const { said, notices } = follow(lane)
  const all = [1, 2, 3].map((marker) => lane.sender.send(transfer(marker), { until: 'queued' }))
  await lane.settle(Promise.all(all))
  await lane.clock.advance(30_000)
  expect(said.filter((line) => line.startsWith('The account cannot pay'))).toHaveLength(1)
  expect(said.filter((line) => line.includes('It waits for money'))).toHaveLength(1)
  expect(said).toHaveLength(2)
  lane.chain.adjust({ address: ACCOUNT, balanceWei: 10n ** 18n })
  await lane.until(() => said.includes('The account has enough funds: sending resumes.'))
  notices.stop()
})

test("reports the wait reason of a stalled run's first transaction, once per reason", async () => {
  await using lane = await openLane()
  const { said, notices } = follow(lane)
  lane.script = onSend(() => refuses('txpool is full'))
  const sent = lane.sender.send(transfer(1), { id: 'line-1', until: 'queued' })
  await lane.settle(sent)
  await lane.clock.advance(40_000)
  expect(said).toEqual([expect.stringContaining('line-1: ')])
  expect(said[0]).toContain('txpool is full')
  notices.stop()
})

test('prints no notice for a run that makes progress', async () => {
  let step = 0
  await using lane = await openLane()
  const { said, notices } = follow(lane, () => String(step++))
  for (let marker = 1; marker <= 5; marker++) {
    const tx = await lane.settle(lane.sender.send(transfer(marker)))
    await lane.settle(tx.wait('sealed'))
    await lane.clock.advance(5_000)
  }
  expect(said).toEqual([])
  notices.stop()
  await lane.clock.advance(30_000)
  expect(said).toEqual([])
})

test('counts that settle within seconds are no notice, and counts that do not settle are one', async () => {
  await using lane = await openLane()
  const listeners = new Map<string, (event: object) => void>()
  const said: string[] = []
  const notices = createNotices(
    {
      on: (name: string, listener: never) => {
        listeners.set(name, listener)
        return () => {}
      },
      snapshot: async () => ({ waiting: {}, holds: [] }),
    } as unknown as Sender,
    {
      progress: { say: (text) => void said.push(text), start() {}, stop() {} },
      clock: lane.clock,
      moved: () => '',
    },
  )
  const emit = (name: string) => listeners.get(name)?.({ reason: 'seeding', detail: 'Two readings differ.' })
  emit('held')
  await lane.clock.advance(3_000)
  emit('released')
  await lane.clock.advance(20_000)
  expect(said).toEqual([])
  emit('held')
  await lane.clock.advance(12_000)
  emit('released')
  expect(said).toEqual([
    "The node's counts for this account have to settle first. Two readings differ.",
    "The node's counts agree: sending begins.",
  ])
  notices.stop()
})
