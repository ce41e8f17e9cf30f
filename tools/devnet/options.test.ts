import { describe, expect, test } from 'vitest'
import { findAnvil } from './anvilProcess.js'
import { type DevnetOptions, settingsOf } from './options.js'

describe('the options of the devnet', () => {
  test('have the documented defaults', () => {
    expect(settingsOf({})).toMatchObject({
      blockTimeMs: 2_000,
      flashblockMs: 200,
      flashblocksPerBlock: 10,
      rules: 'base',
      chainId: 31_337,
      mode: 'timer',
    })
    expect(settingsOf({ rules: 'geth' })).toMatchObject({ flashblockMs: 2_000, flashblocksPerBlock: 1 })
  })

  test.each([
    [{ rules: 'besu' }, 'rules'],
    [{ mode: 'auto' }, 'mode'],
    [{ flashblockMs: 300 }, 'flashblockMs'],
    [{ blockTimeMs: 0 }, 'blockTimeMs'],
    [{ accounts: 1.5 }, 'accounts'],
    [{ port: -1 }, 'port'],
    [{ safeDepth: Number.NaN }, 'safeDepth'],
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
