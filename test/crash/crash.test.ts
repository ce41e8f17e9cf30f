import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { npmScript } from '../support/npmScript.js'
import { waitingIn } from '../sweep/chain.js'
import { HELD } from '../sweep/held.js'
import type { LifeOrder } from './asks.js'
import { runLife } from './life.js'
import { POINT_NAMES } from './plan.js'
import type { CrashResult } from './result.js'

const CHILD = new URL('child/main.ts', import.meta.url)

// A life takes a few seconds on a busy machine.
const SWEEP_MS = 300_000

const crash = (...args: readonly string[]) => npmScript('crash', args)

async function sweep(...args: readonly string[]) {
  const { code, out, err } = await crash('--json', ...args)
  return { code, err, result: JSON.parse(out) as CrashResult }
}

// Run concurrently, because they mostly wait for blocks.
describe.concurrent('a sender that is killed again and again', () => {
  test(
    'on SQLite, at each point: everything happens once and as reported',
    async () => {
      const { code, err, result } = await sweep('--kills', '30', '--seed', '3')
      expect(result, err).toMatchObject({ ...HELD, kills: 30, seed: 3, store: 'sqlite' })
      expect(POINT_NAMES.filter((point) => !result.byPoint[point])).toEqual([])
      expect(result.randomKills).toBeGreaterThan(0)
      expect(result.executed).toBeGreaterThan(0)
      expect(result.restarts).toBeGreaterThanOrEqual(30)
      expect(code).toBe(0)
    },
    SWEEP_MS,
  )

  test(
    'on PostgreSQL: everything happens once and as reported',
    async () => {
      const { code, err, result } = await sweep('--kills', '10', '--seed', '4', '--store', 'postgres')
      expect(result, err).toMatchObject({ ...HELD, kills: 10, store: 'postgres' })
      expect(code).toBe(0)
    },
    SWEEP_MS,
  )

  test(
    'on a store that forgets: the loss is found, and the command that repeats it is printed',
    async () => {
      const { code, out } = await crash('--kills', '5', '--seed', '5', '--store', 'memory')
      expect(out).toMatch(/duplicates [1-9]/)
      expect(out).toContain('npm run crash -- --store memory --seed 5 --kills 5 --group 0')
      expect(code).toBe(1)
    },
    SWEEP_MS,
  )
})

describe('the command', () => {
  test('a bad option exits with code 2, names option and value, and runs nothing', async () => {
    const { code, out, err } = await crash('--store', 'paper')
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/--store.*paper/)
  })
})

describe('the points around a broadcast', () => {
  const child = bundledChild(CHILD)
  let devnet: Devnet
  beforeAll(async () => {
    devnet = await startDevnet({ mining: 'manual', accounts: 3 })
  })
  afterAll(async () => {
    await devnet?.stop()
  })

  async function endedAt(point: string, account: number): Promise<void> {
    const order: LifeOrder = {
      url: devnet.url,
      chainId: devnet.chain.id,
      blockTimeMs: 2_000,
      account,
      store: { kind: 'memory' },
      asks: [
        {
          id: point,
          kind: 'plain',
          until: 'accepted',
          delayMs: 0,
          actAfterMs: 0,
          expiresAfterMs: 0,
          firstAskedAtMs: 0,
        },
      ],
      end: { point, pass: 1 },
      closeAfterMs: undefined,
    }
    expect(await runLife(child, order, undefined)).toMatchObject({ killedAt: point, done: false })
  }

  const pooled = async (account: number) =>
    waitingIn(await devnet.pool())(devnet.accounts[account]!.address).length

  test('before: no byte has left', async () => {
    const { byMethod } = devnet.stats
    await endedAt('broadcast:before', 0)
    expect([byMethod.eth_sendRawTransaction ?? 0, await pooled(0)]).toEqual([0, 0])
  })

  test('sent: the process is gone, and the node has the transaction', async () => {
    await endedAt('broadcast:sent', 1)
    await expect.poll(() => pooled(1)).toBe(1)
  })

  test('answered: the node had the transaction when the process died', async () => {
    await endedAt('broadcast:answered', 2)
    expect(await pooled(2)).toBe(1)
  })
})
