import { describe, expect, test } from 'vitest'
import { npmScript } from '../support/npmScript.js'
import { HELD } from '../sweep/held.js'
import { openFile } from '../sweep/place.js'
import type { ClusterResult } from './result.js'
import { runCluster } from './run.js'
import type { ServiceResult } from './service/result.js'

// Two of the faults last as long as a lease does, and a busy machine is slower.
const RUN_MS = 300_000

const ONE_KEY = { processes: 2, keys: 1, node: 'devnet', json: true, postgres: undefined } as const

const SERVICE_HELD = {
  ok: true,
  lost: 0,
  twice: 0,
  stranded: 0,
  contradictions: 0,
  gaps: 0,
  unheard: 0,
  failures: 0,
  problems: [],
}

const cluster = (...args: readonly string[]) => npmScript('cluster', args)

describe('several processes with the same key', () => {
  test(
    'on PostgreSQL, with one process killed and one stopped in a request: each id lands once, and no answer is false',
    async () => {
      const { code, out, err } = await cluster(
        ...['--json', '--only', 'lanes', '--processes', '2', '--keys', '1', '--transactions', '200'],
        ...['--kills', '1', '--stops', '1', '--seed', '3'],
      )
      const result = JSON.parse(out) as ClusterResult
      expect(result, err).toMatchObject({ ...HELD, kills: 1, stops: 1, databaseRestarts: 1 })
      expect(result.executed).toBeGreaterThan(190)
      expect(result.takeovers.killed.count + result.takeovers.stopped.count).toBeGreaterThan(0)
      expect(code).toBe(0)
    },
    RUN_MS,
  )

  test(
    'on one SQLite file, each id sent by both at once: one transaction, and both get the same hash',
    async () => {
      await using target = await openFile('cluster')
      const said: string[] = []
      const options = { ...ONE_KEY, transactions: 100, kills: 0, stops: 0, seed: 4, twice: 1 }
      const result = await runCluster(options, target, (line) => void said.push(line))
      expect(result, said.join('\n')).toMatchObject({ ...HELD, executed: 100, noops: 0 })
      // Every reported hash is the one in the block: the check compares both with it.
      expect(result.reported).toMatchObject({ 'sealed, success': 200 })
    },
    RUN_MS,
  )
})

test(
  'the relayer, with a kill, a new key, a restart of the database and a hostile caller: each request lands once',
  async () => {
    const { code, out, err } = await cluster(
      ...['--json', '--only', 'service', '--processes', '2', '--keys', '2', '--requests', '120'],
      ...['--kills', '1', '--stops', '0', '--seed', '2'],
    )
    const result = JSON.parse(out) as ServiceResult
    expect(result, err).toMatchObject({ ...SERVICE_HELD, executed: 120, kills: 1 })
    expect(result.accepted.count).toBe(120)
    expect(code).toBe(0)
  },
  RUN_MS,
)

test('a bad option exits with code 2, names option and value, and runs nothing', async () => {
  const { code, out, err } = await cluster('--kills', 'many')
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(/--kills.*many/)
})
