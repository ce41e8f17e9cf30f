import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, type Hex, pad, parseEther, toHex } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readRows } from '../../examples/payout/rows.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { DEVNET_KEY, EXAMPLE_TIMEOUT_MS, startExample } from '../support/exampleProcess.js'
import { pause } from '../support/pause.js'

vi.setConfig({ testTimeout: EXAMPLE_TIMEOUT_MS })

let devnet: Devnet
let folder: string

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
  folder = await mkdtemp(join(tmpdir(), 'txlane-payout-'))
})
afterAll(async () => {
  await devnet.stop()
  await rm(folder, { recursive: true, force: true })
})

const payee = (index: number): Address => pad(toHex(0x77_0000 + index), { size: 20 })
const balance = (address: Address, chain = devnet) => chain.client().getBalance({ address })
const environment = (store: string, chain = devnet) => ({
  RPC_URL: chain.url,
  CHAIN_ID: String(chain.chain.id),
  PRIVATE_KEY: DEVNET_KEY,
  STORE: join(folder, store),
})

async function fileOf(name: string, ...payees: readonly number[]): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, payees.map((index) => `invoice-${index}, ${payee(index)}, 0.5\n`).join(''))
  return file
}

test('the sample file is paid, each row once, and a second run pays nothing', async () => {
  for (const paid of [1, 2]) {
    await using run = startExample(
      'payout/payout.ts',
      environment('sample.db'),
      'examples/payout/payouts.csv',
    )
    const { code, out } = await run.ended
    expect({ code, lines: out.split('\n').length }, `run ${paid}`).toEqual({ code: 0, lines: 3 })
    for (const line of out.split('\n')) expect(JSON.parse(line)).toMatchObject({ status: 'success' })
  }
  expect(await balance('0x1111111111111111111111111111111111111111')).toBe(parseEther('0.25'))
  expect(await balance('0x2222222222222222222222222222222222222222')).toBe(parseEther('1'))
})

test.each(['SIGKILL', 'SIGINT'] as const)(
  'stopped midway by %s and run again: every row is paid once',
  async (signal) => {
    // Blocks hold 40 transfers and are made here, so the run cannot finish before it is stopped.
    await using stepped = await startDevnet({
      mining: 'manual',
      flashblockMs: 2_000,
      gasLimit: 40n * 21_000n,
    })
    const rows = Array.from({ length: 150 }, (_, index) => index)
    const file = await fileOf(`${signal}.csv`, ...rows)
    const settings = environment(`${signal}.db`, stepped)
    await using broken = startExample('payout/payout.ts', settings, file)
    while ((await stepped.pool()).length === 0) await pause(100)
    await stepped.seal()
    await broken.line(/"status":"success"/)
    broken.kill(signal)
    const { code } = await broken.ended
    expect(code).toBe(signal === 'SIGINT' ? 130 : null)
    await using again = startExample('payout/payout.ts', settings, file)
    const ended = await sealing(stepped, again.ended)
    expect({ code: ended.code, lines: ended.out.split('\n').length }, ended.err).toEqual({
      code: 0,
      lines: 150,
    })
    const balances = await Promise.all(rows.map((index) => balance(payee(index), stepped)))
    expect(new Set(balances)).toEqual(new Set([parseEther('0.5')]))
  },
)

/** Makes blocks until `end` settles. */
async function sealing<t>(chain: Devnet, end: Promise<t>): Promise<t> {
  let over = false
  void end.finally(() => {
    over = true
  })
  while (!over) {
    await chain.seal()
    await pause(100)
  }
  return end
}

test.each<[string, string]>([
  ['an id that is there twice', `a, ${payee(1)}, 1\na, ${payee(2)}, 1`],
  ['an address with a typing error', 'a, 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD0, 1'],
  ['an invalid amount', `a, ${payee(1)}, 1e3`],
  ['a column too many', `a, ${payee(1)}, 1, x`],
])('nothing is sent for a file with %s', (_, text) => {
  expect(() => readRows(text)).toThrow(/^line [12]: /)
})

test('a row keeps its number to the last wei', () => {
  expect(readRows(`# a comment\n\na, ${payee(1)}, 1000000.000000000000000001\n`)).toEqual([
    { id: 'a', to: payee(1) as Hex, value: 10n ** 24n + 1n },
  ])
})
