import { describe, expect, test } from 'vitest'
import { built } from '../support/built.js'
import { CHAIN_KINDS } from './chainPlan.js'
import { SOCKET_EVENTS, type SocketEvent } from './expected.js'
import { drawPlan, faultsOf, type Plan } from './plan.js'

const { createCounter, createSubject, runWorld } = await built<typeof import('./worlds.js')>(
  new URL('worlds.ts', import.meta.url),
)

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed)
const FIRST_SEED = 37_000
const WORLDS = 100
const USUAL: readonly SocketEvent[] = ['head by push', 'sync send', 'sync receipt', 'sync timeout']
/** Too rare for so few worlds; the 5,000 of sender.test.ts have it. */
const RARE: SocketEvent = 'sync nonce gap'

const withoutSockets = (plan: Plan) => ({
  ...plan,
  ports: plan.ports.map((port) => ({ ...port, push: undefined, syncSends: undefined })),
})

describe('endpoints that announce heads and answer sync sends', () => {
  test('are drawn beside everything else: without them a seed makes the world that it made before', () => {
    for (const seed of SEEDS) {
      const { items, durationMs, ...plan } = drawPlan(seed)
      const former = drawPlan(seed, { sockets: false })
      expect(withoutSockets({ ...plan, items: former.items, durationMs: former.durationMs })).toEqual(former)
      expect(durationMs).toBeGreaterThanOrEqual(former.durationMs)
      const first = items.slice(0, former.items.length)
      expect(first.map(({ receiptWithinMs: _, ...item }) => item)).toEqual(former.items)
    }
  })

  test('can be left out of a failing world by name', () => {
    const plan = SEEDS.map((seed) => drawPlan(seed)).find((one) => {
      const faults = faultsOf(one)
      return faults.includes('push') && faults.includes('syncSends')
    }) as Plan
    const faults = faultsOf(plan).filter((fault) => fault !== 'push' && fault !== 'syncSends')
    const { ports } = drawPlan(plan.seed, { keep: { faults } })
    expect(ports.map(({ push, syncSends }) => [push, syncSends])).toEqual(
      ports.map(() => [undefined, undefined]),
    )
  })

  test(`occur in ${WORLDS} worlds of each kind of chain, with all faults, and the promises hold`, async () => {
    const lacking = new Set<SocketEvent>(SOCKET_EVENTS.filter((event) => event !== RARE))
    for (const kind of CHAIN_KINDS) {
      const counter = createCounter()
      for (let seed = FIRST_SEED; seed < FIRST_SEED + WORLDS; seed++) {
        const { violations } = await runWorld(seed, createSubject, { counter, chains: [kind] })
        expect(violations, `replay: npm run sim -- --runs 1 --chain ${kind} --seed ${seed}`).toEqual([])
      }
      const { sockets } = counter.coverage()
      expect(
        USUAL.filter((event) => !sockets[event]),
        kind,
      ).toEqual([])
      for (const event of lacking) if (sockets[event]) lacking.delete(event)
    }
    expect([...lacking]).toEqual([])
  })
})
