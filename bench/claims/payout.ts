import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress, type Hex, keccak256, toHex } from 'viem'
import { systemClock } from '../../src/platform/clock.js'
import { bundleChild } from '../../test/support/bundleChild.js'
import { ended } from '../../test/support/ended.js'
import { atMost, type Claim, medianOf } from '../claim.js'
import { freshAccount, startNode } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const LINES = 200_000
const MIB = 1_024
const TIME = 'dry run of a payout file'
const MEMORY = 'most memory of the dry run'
const ONE = 'one line'

/** The most memory of the process, in KiB, on its last line. */
const METER =
  'data:text/javascript,process.on("exit",()=>process.stderr.write("\\n"+process.resourceUsage().maxRSS))'

type Run = { readonly seconds: number; readonly mebibytes: number }

export const claim: Claim = {
  says: 'A dry run reads and checks a large payout file in seconds, and in memory that a small machine has.',
  transactions: LINES,
  async run({ rounds, transactions, say }) {
    await using node = await startNode()
    await using program = await bundleChild(new URL('../../tools/cli/main.ts', import.meta.url))
    const { privateKey } = await freshAccount(node, 'payout')
    const folder = await mkdtemp(join(tmpdir(), 'txlane-bench-payout-'))
    try {
      const all = `${transactions.toLocaleString('en')} lines`
      const files = [
        { name: all, path: join(folder, 'all.csv'), lines: transactions },
        { name: ONE, path: join(folder, 'one.csv'), lines: 1 },
      ]
      for (const { path, lines } of files) await writeFile(path, textOf(lines))
      const { values, failures } = await takeTurns({
        subjects: files,
        rounds,
        run: ({ path, lines }) => dryRun(program.path, path, lines, { url: node.url, privateKey }),
        show: ({ seconds, mebibytes }) => `${seconds.toFixed(1)} s, ${mebibytes.toFixed(0)} MiB`,
        say,
      })
      const of = (measure: string, unit: string, value: (run: Run) => number) =>
        figuresOf(
          { measure, unit },
          [...values].map(([name, runs]) => [name, runs.map(value)] as const),
        )
      const figures = [
        ...of(TIME, 's', ({ seconds }) => seconds),
        ...of(MEMORY, 'MiB', ({ mebibytes }) => mebibytes),
      ]
      const [most, least] = [medianOf(figures, MEMORY, all), medianOf(figures, MEMORY, ONE)]
      const above = most === undefined || least === undefined ? undefined : most - least
      return {
        figures,
        checks: [
          atMost(`seconds for ${all}`, medianOf(figures, TIME, all), 10),
          atMost(`MiB for ${all} above those for one line`, above, 200),
        ],
        notes: [
          'txlane send FILE --dry-run as its own process, with the start of Node and every request to anvil; addresses with checksums, each with another amount and a note.',
          ...failures,
        ],
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

function textOf(lines: number): string {
  const rows = Array.from({ length: lines }, (_, index) => {
    const to = getAddress(keccak256(toHex(index)).slice(0, 42) as Hex)
    return `${to},${index + 1}.25 gwei,note ${index}`
  })
  return ['to,amount,note', ...rows].join('\n')
}

/** @throws Error if the dry run does not report all lines */
async function dryRun(
  program: string,
  path: string,
  lines: number,
  { url, privateKey }: { readonly url: string; readonly privateKey: Hex },
): Promise<Run> {
  const startMs = systemClock.now()
  const child = spawn(process.execPath, ['--import', METER, program, 'send', path, '--dry-run', '--json'], {
    env: { PATH: process.env.PATH, TXLANE_RPC_URL: url, TXLANE_PRIVATE_KEY: privateKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    const { code, out, err } = await ended(child)
    const seconds = (systemClock.now() - startMs) / 1_000
    if (code !== 0) throw new Error(`the dry run ended with ${code}: ${err || out}`)
    const { lines: seen } = JSON.parse(out) as { lines: number }
    if (seen !== lines) throw new Error(`the dry run saw ${seen} of ${lines} lines`)
    return { seconds, mebibytes: Number(err.trim().split('\n').at(-1)) / MIB }
  } finally {
    child.kill('SIGKILL')
  }
}
