import { mainnet } from 'viem/chains'
import { expect, test, vi } from 'vitest'
import { openProcesses } from '../api/sender/processes.fixture.js'
import { transfer } from '../api/sender/simLane.fixture.js'
import { defaultLimits } from '../validate/validateLane.js'
import { differencesOf, reportedOptions } from './sharedOptions.js'

const GWEI = 10n ** 9n

test('a process whose options differ from those of the owner reports their names once, and works on', async () => {
  await using world = await openProcesses()
  const { lane } = world
  const [holder] = await world.pair()
  await lane.clock.advance(1_000)
  const warn = vi.fn()
  const fees = { ceiling: { maxFeePerGas: 50n * GWEI } }
  const { sender } = world.start({ fees, gasMultiplier: 1.5, logger: { info() {}, warn } })
  await lane.settle(sender.ready())
  // Longer than a guest goes without a look, and the holder keeps the lane.
  for (const marker of [1, 2, 3, 4, 5]) {
    const tx = await lane.settle(sender.send(transfer(marker)))
    await lane.settle(tx.wait('sealed'))
    await lane.clock.advance(10_000)
  }
  const [reason, ...others] = sender.health().reasons
  expect(others).toEqual([])
  expect(reason).toMatchObject({ for: 'options', options: ['gasMultiplier', 'fees.ceiling'], operator: true })
  expect(reason?.sentence).toContain('gasMultiplier is 1.5 here, and its default in the process that holds')
  expect(sender.health().ready).toBe(true)
  const said = warn.mock.calls.filter(([, sentence]) => sentence === reason?.sentence)
  expect(said).toHaveLength(1)
  expect(holder.sender.health().reasons).toEqual([])
})

test('equal options are no difference, however they are written', () => {
  const of = (over: object) =>
    reportedOptions({ client: { chain: mainnet }, limits: defaultLimits, ...over } as never)
  const groups = { each: { weight: 2 }, named: { a: { weight: 1, queueMax: 5 } } }
  const same = { named: { a: { queueMax: 5, weight: 1 } }, each: { weight: 2, inFlightMax: undefined } }
  expect(differencesOf(of({ groups }), of({ groups: same }))).toEqual([])
  expect(differencesOf(of({}), of({ broadcast: 'first', simulate: false, gasMultiplier: 1 }))).toEqual([])
  const defaults = {
    lossDepth: 'safe',
    limits: { ...defaultLimits },
    fees: { bump: { percent: 10, attemptsMax: 12 } },
  }
  expect(differencesOf(of({}), of(defaults)), 'that a default was named').toEqual([])
  expect(differencesOf(of({}), of({ fees: { bump: { percent: 11 } } }))).toHaveLength(1)
  expect(differencesOf(of({}), of({ limits: { ...defaultLimits, window: 7 } }))).toHaveLength(1)
  expect(differencesOf(of({ lossDepth: 3 }), of({}))).toEqual([
    { option: 'lossDepth', own: '3', holder: 'its default' },
  ])
  const many = (weight: number) => ({
    named: Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`group ${index}`, { weight }])),
  })
  expect(differencesOf(of({ groups: many(1) }), of({ groups: many(1) }))).toEqual([])
  expect(differencesOf(of({ groups: many(1) }), of({ groups: many(2) }))).toHaveLength(1)
  expect(String(of({ groups: many(1) }).groups).length).toBeLessThan(300)
})
