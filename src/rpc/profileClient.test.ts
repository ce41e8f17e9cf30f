import { describe, expect, test } from 'vitest'
import { createProfile } from './profile.js'

const GETH = 'Geth/v1.17.10-stable-a1b2c3d4/linux-amd64/go1.26'

describe('the client that an endpoint reports', () => {
  test.each([GETH, 'geth/v1.17.10', 'op-geth/v1.101603.5'])(
    'geth, by %s: its pool rules are known',
    (version) => {
      const profile = createProfile()
      profile.observe({ kind: 'client', version })
      expect(profile.current()).toMatchObject({ pending: 'mempool', gapBudget: 64, batchInOrder: true })
      expect(profile.current().delivery.window).toBeGreaterThan(64)
    },
  )

  test('anvil keeps transactions above a gap, so several requests may be open, and its pool is unlimited', () => {
    const profile = createProfile()
    profile.observe({ kind: 'client', version: 'anvil/v1.7.1' })
    expect(profile.current()).toMatchObject({ pending: 'mempool', gapBudget: 4_096, batchInOrder: undefined })
    expect(profile.current().delivery.pool).toBeGreaterThanOrEqual(100_000)
  })

  test.each(['notanvil/v1', 'reth/v1.9.0', 'NotGeth/v1', ''])(
    'another client, by "%s": only its name is known',
    (version) => {
      const profile = createProfile()
      const before = profile.current()
      profile.observe({ kind: 'client', version })
      expect(profile.current()).toEqual({ ...before, client: version })
    },
  )

  test('does not override given or observed values', () => {
    const given = createProfile({ pending: 'preconfirmed' })
    given.observe({ kind: 'client', version: GETH })
    expect(given.current().pending).toBe('preconfirmed')
    const seen = createProfile()
    for (let times = 0; times < 2; times++) seen.observe({ kind: 'gapRefused', overtook: true })
    seen.observe({ kind: 'client', version: GETH })
    expect(seen.current()).toMatchObject({ gapBudget: 0, batchInOrder: false })
  })

  test("does not lower observed values above the client's known ones", () => {
    const windowAfter = (window: number): unknown => {
      const profile = createProfile()
      profile.observe({ kind: 'delivered', delivery: { window, pool: 500, batch: 129 } })
      profile.observe({ kind: 'client', version: GETH })
      return profile.current().delivery
    }
    expect(windowAfter(128)).toEqual({ window: 1_000, pool: 500, batch: 129 })
    expect(windowAfter(2_000)).toEqual({ window: 2_000, pool: 500, batch: 129 })
  })

  test('is contradicted by counts that omit two consecutive sends', () => {
    const profile = createProfile()
    profile.observe({ kind: 'client', version: GETH })
    profile.observe({ kind: 'countAfterSend', sentFrom: 3, sentUpTo: 9, count: 3, atMs: 10 })
    profile.observe({ kind: 'countAfterSend', sentFrom: 10, sentUpTo: 12, count: 10, atMs: 10 })
    expect(profile.current().pending).toBe('unknown')
  })
})

test('the results of a delivery are kept, and reported once', () => {
  const profile = createProfile()
  let reported = 0
  profile.onChange(() => reported++)
  const delivery = { window: 512, pool: 4_000, batch: 300 }
  for (let times = 0; times < 3; times++) profile.observe({ kind: 'delivered', delivery: { ...delivery } })
  expect(profile.current().delivery).toEqual(delivery)
  expect(reported).toBe(1)
})
