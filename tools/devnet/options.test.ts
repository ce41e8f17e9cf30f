import { describe, expect, test } from 'vitest'
import { findAnvil } from './anvilProcess.js'
import { type DevnetOptions, type DevnetSettings, settingsOf } from './options.js'

describe('the options of the devnet', () => {
  test('have the documented defaults', () => {
    expect(settingsOf({})).toMatchObject({
      blockTimeMs: 2_000,
      flashblockMs: 200,
      flashblocksPerBlock: 10,
      rules: 'base',
      chainId: 31_337,
      mode: 'preconfirmed',
      mining: 'timer',
      timestampMs: false,
      syncSend: 'node',
    })
    expect(settingsOf({ rules: 'geth' })).toMatchObject({
      mode: 'plain',
      flashblockMs: 2_000,
      flashblocksPerBlock: 1,
    })
    expect(settingsOf({ mode: 'plain' })).toMatchObject({ rules: 'geth', blockTimeMs: 2_000 })
    expect(settingsOf({ rules: 'anvil', flashblockMs: 200 }).mode).toBe('preconfirmed')
    expect(settingsOf({ mode: 'fastBlocks' })).toMatchObject({
      rules: 'base',
      blockTimeMs: 200,
      flashblocksPerBlock: 1,
      timestampMs: true,
      historyBlocks: 700,
    })
  })

  test('tags lag by minutes, unless their lag is given: then they move with each block', () => {
    const lags = ({ safeLagMs, safeStepMs, finalizedLagMs, finalizedStepMs }: DevnetSettings) => [
      [safeLagMs, safeStepMs],
      [finalizedLagMs, finalizedStepMs],
    ]
    const final = [768_000, 384_000]
    expect(lags(settingsOf({ mode: 'preconfirmed' }))).toEqual([[120_000, 60_000], final])
    expect(lags(settingsOf({ mode: 'fastBlocks' }))).toEqual([[120_000, 60_000], final])
    expect(lags(settingsOf({ mode: 'plain' }))).toEqual([[384_000, 384_000], final])
    expect(lags(settingsOf({ mode: 'fastBlocks', safeLagMs: 400, finalizedLagMs: 800 }))).toEqual([
      [400, 200],
      [800, 200],
    ])
  })

  test.each([
    [{ rules: 'besu' }, 'rules'],
    [{ mode: 'auto' }, 'mode'],
    [{ mining: 'auto' }, 'mining'],
    [{ mode: 'fastBlocks', flashblockMs: 100 }, 'flashblockMs'],
    [{ rules: 'anvil', syncSend: 'eip7966' }, 'syncSend'],
    [{ safeStepMs: 0 }, 'safeStepMs'],
    [{ flashblockMs: 300 }, 'flashblockMs'],
    [{ blockTimeMs: 0 }, 'blockTimeMs'],
    [{ accounts: 1.5 }, 'accounts'],
    [{ port: -1 }, 'port'],
    [{ safeLagMs: Number.NaN }, 'safeLagMs'],
  ])('that are invalid are rejected by name: %o', (options, name) => {
    expect(() => settingsOf(options as DevnetOptions)).toThrow(`Invalid ${name}:`)
  })
})

describe('looking for anvil', () => {
  test('prefers the given path to ANVIL_PATH, and either path must exist', () => {
    expect(findAnvil(process.execPath, { ANVIL_PATH: '/nowhere' })).toBe(process.execPath)
    expect(findAnvil(undefined, { ANVIL_PATH: process.execPath })).toBe(process.execPath)
    expect(() => findAnvil(undefined, { ANVIL_PATH: '/nowhere' })).toThrow('/nowhere')
  })

  test('finds the binary of the npm package, not its launcher', () => {
    expect(findAnvil(undefined, {})).toMatch(/anvil-[a-z0-9]+-[a-z0-9]+.bin.anvil/)
  })
})
