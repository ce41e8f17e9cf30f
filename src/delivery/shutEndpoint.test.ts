import { describe, expect, it } from 'vitest'
import { createProvider, type Endpoint, type Provider, saturate } from './provider.fixture.js'

const PROVIDER: Provider = { perSecond: 50, counts: 'calls', refuses: 'whole', window: 'sliding' }
const UNLIMITED: Endpoint = () => 0
/** Enough requests pass before an endpoint shuts that it is known to accept more than a few calls. */
const BEFORE_MS = 300

/** An endpoint that refuses every request between two times: a ban, a used-up quota, a fault. */
function shut(endpoint: Endpoint, fromMs: number, toMs: number): Endpoint {
  return (calls, nowMs) => (nowMs >= fromMs && nowMs < toMs ? calls : endpoint(calls, nowMs))
}

describe('an endpoint that refuses everything for a while', () => {
  it.each([1_500, 3_000, 6_000, 10_000])('gets requests at full speed again after %i ms', (shutMs) => {
    for (const [batch, fromMs] of [
      [100, 60],
      [100, BEFORE_MS],
      [1, BEFORE_MS],
    ] as const) {
      const toMs = fromMs + shutMs
      // Two requests of one call are on their way: an endpoint without a limit takes 7.5 seconds for that many.
      const { tookMs } = saturate(shut(UNLIMITED, fromMs, toMs), {
        amount: batch === 1 ? 300 : 1_000,
        batch,
        first: [4, 1, 8, 8, 1],
      })
      // The pauses between the attempts double, so that the last one is as long as all earlier ones.
      expect(tookMs - toMs).toBeLessThan(shutMs + 10_000)
    }
  })

  it.each(['fixed', 'sliding', 'saved'] as const)('keeps its known limit (%s window)', (window) => {
    const limited = createProvider({ ...PROVIDER, window })
    const { tookMs, requests, denied } = saturate(shut(limited, 3_000, 8_000), { amount: 1_000, batch: 100 })
    // 20 s at the limit, 5 s shut, 5 s until the next attempt.
    expect(tookMs).toBeLessThan(1.2 * 30_000)
    expect(denied / requests).toBeLessThan(0.15)
  })

  it('has a limit if it does so after each second with too many calls', () => {
    const banMs = 5_000
    const limited = createProvider(PROVIDER)
    let bannedUntilMs = 0
    const endpoint: Endpoint = (calls, nowMs) => {
      if (nowMs < bannedUntilMs) return calls
      const refused = limited(calls, nowMs)
      if (refused > 0) bannedUntilMs = nowMs + banMs
      return refused
    }
    const { tookMs } = saturate(endpoint, { amount: 3_000, batch: 100 })
    // A minute at the limit.
    expect(tookMs).toBeLessThan(180_000)
  })
})
