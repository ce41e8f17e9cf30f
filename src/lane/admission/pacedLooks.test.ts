import type { Hash } from 'viem'
import { expect, test } from 'vitest'
import { createVirtualClock } from '../../../test/sim/virtualClock.js'
import { transactionIn } from '../../store/contract/samples.js'
import type { StoredTransaction } from '../../types/store.js'
import type { LaneContext } from '../engine/core.js'
import { fromStored } from '../transaction/stored.js'
import { createEffectWatcher } from './effectWatcher.js'
import { followStored } from './followStored.js'

const lane = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'a'.repeat(40)}` } as const
const hashOf = (digit: string): Hash => `0x${digit.repeat(64)}`
const PRECONFIRMS = { profile: { current: () => ({ pending: 'preconfirmed' }) } }
const limits = { pollIntervalMs: 200, readTimeoutMs: 5_000 }

/** Number of the times in the given span. */
const countIn = (times: readonly number[], fromMs: number, toMs: number) =>
  times.filter((atMs) => atMs > fromMs && atMs <= toMs).length

test('a transaction of another process is polled at the pace of the pending block first, and rarely if it stays absent', async () => {
  const clock = createVirtualClock()
  const beganMs = clock.now()
  const looks: number[] = []
  let stored: StoredTransaction = {
    ...transactionIn(lane, 'a'),
    stage: 'accepted',
    nonce: 1,
    hash: hashOf('b'),
  }
  let isShown = false
  const context = {
    clock,
    limits,
    lane: { key: lane },
    store: { find: async () => stored, watch: () => () => {} },
    endpointPool: {
      reader: PRECONFIRMS,
      receipts: {
        find: async () => {
          looks.push(clock.now() - beganMs)
          return isShown ? ({} as never) : undefined
        },
      },
    },
  } as unknown as LaneContext
  const followed = await followStored(context, 'a')
  await clock.advance(5_000)
  expect(countIn(looks, 0, 5_000)).toBe(25)
  await clock.advance(115_000)
  expect(countIn(looks, 60_000, 120_000)).toBe(15)
  // A bump: the new bytes are expected soon.
  stored = { ...stored, hash: hashOf('c') }
  await clock.advance(10_000)
  expect(countIn(looks, 120_000, 130_000)).toBeGreaterThan(20)
  isShown = true
  expect(await clock.runUntil(() => followed.transaction.stage === 'preconfirmed', 5_000)).toBe(true)
  const { length } = looks
  await clock.advance(60_000)
  expect(looks).toHaveLength(length)
  followed.stop()
})

test('failed reads of state are repeated with growing pauses, and at the usual pace after a success', async () => {
  const clock = createVirtualClock()
  const beganMs = clock.now()
  const reads: number[] = []
  let isUp = false
  const port = {
    batch: async (calls: readonly unknown[]) => {
      reads.push(clock.now() - beganMs)
      if (!isUp) return calls.map(() => ({ ok: false, failure: { kind: 'timeout', message: 'no answer' } }))
      return calls.map(() => ({ ok: true, result: '0x' }))
    },
  }
  const context = { clock, limits, changed: new Set(), endpointPool: { reader: { ...PRECONFIRMS, port } } }
  const effects = createEffectWatcher(context as unknown as LaneContext)
  const needs = { deploys: lane.address, missing: true }
  const watch = effects.watch(fromStored({ stage: 'accepted', needs } as StoredTransaction))
  await clock.advance(60_000)
  // 0.2, 0.4, 0.8, 1.6, 3.2 and 4 s apart.
  expect(reads.length).toBeGreaterThan(15)
  expect(reads.length).toBeLessThan(22)
  isUp = true
  await clock.advance(4_000)
  const before = reads.length
  await clock.advance(2_000)
  expect(reads.length - before).toBe(10)
  watch.stop()
})
