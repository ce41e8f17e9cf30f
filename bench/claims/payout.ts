import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, getAddress, type Hex, keccak256, toHex } from 'viem'
import { systemClock } from '../../src/platform/clock.js'
import { bundleChild } from '../../test/support/bundleChild.js'
import { ended } from '../../test/support/ended.js'
import { atMost, type Claim, medianOf } from '../claim.js'
import { freshAccount, startNode } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const LINES = 200_000
const KIB = 1_024
const MEGABYTE = 1_000_000
const TIME = 'dry run of a payout file'
const MEMORY = 'most memory of the process'
const TIME_MAX_S = 10
const MEMORY_MAX_MB = 200

/** The most memory of the process, in KiB, on its last line. */
const METER =
  'data:text/javascript,process.on("exit",()=>process.stderr.write("\\n"+process.resourceUsage().maxRSS))'

type Run = { readonly seconds: number; readonly megabytes: number }

export const claim: Claim = {
  says: 'A dry run reads and checks a large payout file in seconds, and in memory that a small machine has.',
  transactions: LINES,
  async run({ rounds, transactions, say }) {
    await using node = await startNode()
    await using program = await bundleChild(new URL('../../tools/cli/main.ts', import.meta.url))
    const { privateKey } = await freshAccount(node, 'payout')
    const folder = await mkdtemp(join(tmpdir(), 'txlane-bench-payout-'))
    try {
      const large = Object.entries(FORMS).map(([name, textOf]) => ({ name, textOf, lines: transactions }))
      const files = [...large, { name: 'one line', textOf: twoColumns, lines: 1 }].map((file, index) => ({
        ...file,
        path: join(folder, `${index}.txt`),
      }))
      for (const { path, textOf, lines } of files) await writeFile(path, textOf(paymentsOf(lines)))
      const { values, failures } = await takeTurns({
        subjects: files,
        rounds,
        run: ({ path, lines }) => dryRun(program.path, path, lines, { url: node.url, privateKey }),
        show: ({ seconds, megabytes }) => `${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MB`,
        say,
      })
      const of = (measure: string, unit: string, value: (run: Run) => number) =>
        figuresOf(
          { measure, unit },
          [...values].map(([name, runs]) => [name, runs.map(value)] as const),
        )
      const figures = [
        ...of(TIME, 's', ({ seconds }) => seconds),
        ...of(MEMORY, 'MB', ({ megabytes }) => megabytes),
      ]
      return {
        figures,
        checks: large.flatMap(({ name }) => [
          atMost(`seconds, ${name}`, medianOf(figures, TIME, name), TIME_MAX_S),
          atMost(`MB, ${name}`, medianOf(figures, MEMORY, name), MEMORY_MAX_MB),
        ]),
        notes: [
          `txlane send FILE --dry-run as its own process, ${transactions.toLocaleString('en')} lines, with the start of Node and every request to anvil; addresses with checksums. The memory is the resident set of the whole process at its peak.`,
          ...failures,
        ],
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

type Payment = { readonly to: Address; readonly index: number }

function paymentsOf(lines: number): readonly Payment[] {
  return Array.from({ length: lines }, (_, index) => ({
    to: getAddress(keccak256(toHex(index)).slice(0, 42) as Hex),
    index,
  }))
}

const twoColumns = (payments: readonly Payment[]): string =>
  ['to,amount', ...payments.map(({ to, index }) => `${to},${index + 1}.25 gwei`)].join('\n')

const sixColumns = (payments: readonly Payment[]): string =>
  [
    'id,name,to,amount,department,note',
    ...payments.map(
      ({ to, index }) =>
        `INV-2026-${index},Person ${index},${to},${index + 1}.25 gwei,Department ${index % 40},"salary, invoice ${index}"`,
    ),
  ].join('\n')

const fieldsOf = ({ to, index }: Payment) => ({
  id: `INV-${index}`,
  to,
  amount: index + 1,
  unit: 'gwei',
  note: `invoice ${index}`,
})

const FORMS: Readonly<Record<string, (payments: readonly Payment[]) => string>> = {
  'CSV, two columns': twoColumns,
  'CSV, six columns': sixColumns,
  JSON: (payments) => JSON.stringify(payments.map(fieldsOf), undefined, 2),
  'JSON Lines': (payments) => payments.map((each) => JSON.stringify(fieldsOf(each))).join('\n'),
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
    const peakKib = Number(err.trim().split('\n').at(-1))
    return { seconds, megabytes: (peakKib * KIB) / MEGABYTE }
  } finally {
    child.kill('SIGKILL')
  }
}
