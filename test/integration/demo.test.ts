import { spawn } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { type Ended, ended } from '../support/ended.js'
import { npmScript } from '../support/npmScript.js'

// The well-known private key of account 1 of every local node.
const KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const STORM_MS = 300_000

const program = bundledChild(new URL('../../test/demo/main.ts', import.meta.url))

function demo(args: readonly string[], environment: Record<string, string> = {}): Promise<Ended> {
  const env = { ...process.env, ...environment }
  return ended(spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] }))
}

const HELD = { gaps: 0, duplicates: 0, lost: 0, contradictions: 0, ok: true, timedOut: false, problems: [] }

// Run concurrently, because they mostly wait for blocks.
describe.concurrent.each([
  ['none', 4],
  ['default', 5],
  ['storm', 6],
])('a burst of 60 under the faults %s', (preset, seed) => {
  test(
    'lands each transaction exactly once, and --json prints only one object',
    async () => {
      const { code, out, err } = await demo([
        '--json',
        '--count',
        '60',
        '--faults',
        preset,
        '--seed',
        String(seed),
      ])
      expect(out.trim().split('\n'), err).toHaveLength(1)
      const result = JSON.parse(out) as Record<string, number>
      expect(result).toMatchObject({ ...HELD, requested: 60, seed, faults: { preset } })
      expect(result.sealed! + result.failed!).toBe(60)
      expect(result.reverted).toBe(6)
      const { struck } = (JSON.parse(out) as { faults: { struck: unknown[] } }).faults
      expect(struck.length > 0).toBe(preset !== 'none')
      for (const field of [
        'acceptedPerSecond',
        'rpcCallsPerTransaction',
        'httpRequestsPerTransaction',
        'preconfirmedMsP50',
        'preconfirmedMsP99',
      ]) {
        expect(result[field], field).toBeGreaterThan(0)
      }
      expect(code).toBe(0)
    },
    STORM_MS,
  )
})

describe('against a node of the user', () => {
  test('the same burst lands there, and neither the key nor the path of the URL is printed', async () => {
    await using devnet = await startDevnet()
    const { code, out, err } = await demo(
      ['--rpc', `${devnet.url}/secret-path`, '--key-env', 'DEMO_KEY', '--count', '20', '--faults', 'default'],
      { DEMO_KEY: KEY, NO_COLOR: '1' },
    )
    expect(out, err).toContain('gaps 0, duplicates 0, lost 0')
    expect(out).toContain('20 sealed (2 of which reverted), 0 failed')
    expect(err).toContain('--faults has no effect')
    for (const secret of [KEY.slice(2), 'secret-path']) expect(out + err).not.toContain(secret)
    expect(code).toBe(0)
  })

  test('an unreachable node exits with code 1, and only its origin is in the message', async () => {
    const { code, out, err } = await demo(
      ['--json', '--rpc', 'http://me:secret@127.0.0.1:9/secret', '--key-env', 'DEMO_KEY'],
      {
        DEMO_KEY: KEY,
      },
    )
    expect(code).toBe(1)
    expect(out).toBe('')
    expect(err).toContain('http://127.0.0.1:9')
    expect(err).not.toContain('secret')
  })
})

test('as the README documents: bad options exit with code 2 and a message, and print nothing on standard output', async () => {
  const { code, out, err } = await npmScript('demo', ['--count', 'many'])
  expect(code).toBe(2)
  expect(out).toBe('')
  expect(err).toContain('--count')
})
