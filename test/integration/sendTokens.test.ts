import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, erc20Abi } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { accountKey } from '../../tools/devnet/accounts.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { type Ended, ended } from '../support/ended.js'
import { compileDisperse, compileToken, type TokenName } from '../support/payoutContracts.js'
import { BLOCKER, deployed, fresh, resultsIn, statusesIn } from './sendPackSupport.js'

const program = bundledChild(new URL('../../tools/cli/main.ts', import.meta.url))

let devnet: Devnet
let folder: string
beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, baseFee: 'constant' })
})
afterAll(() => devnet.stop())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-tokens-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** The account that has the tokens. */
const PAYER = 3

const deploy = (name: TokenName) => deployed(devnet, compileToken(name), PAYER)

async function file(name: string, to: readonly Address[]): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `to,amount\n${to.map((each) => `${each},100 base`).join('\n')}\n`)
  return path
}

function run(command: string, args: readonly string[]): Promise<Ended> {
  const env = { PATH: process.env.PATH, TXLANE_RPC_URL: devnet.url, TXLANE_PRIVATE_KEY: accountKey(PAYER) }
  return ended(
    spawn(process.execPath, [program, command, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
  )
}

const send = (token: Address, path: string, ...args: string[]) =>
  run('send', [path, '--token', token, ...args])
const pay = (token: Address, path: string, ...args: string[]) => send(token, path, '--yes', '--json', ...args)

const balances = (token: Address, of: readonly Address[]) =>
  Promise.all(
    of.map((each) =>
      devnet
        .client()
        .readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [each] }),
    ),
  )
const nonce = () =>
  devnet.client().getTransactionCount({ address: devnet.accounts[PAYER]?.address as Address })

test('a line that its token answers with false is shown before, not sent, and sent by a later run', async () => {
  const [token, to] = [await deploy('ShyCoin'), fresh(3)]
  const [blocked] = [to[1] as Address]
  const blocking = { address: token, abi: BLOCKER, functionName: 'block_', args: [blocked] } as const
  const hash = await devnet.client(PAYER).writeContract(blocking)
  await devnet.client().waitForTransactionReceipt({ hash })
  const path = await file('shy.csv', to)
  const shown = await send(token, path, '--dry-run')
  expect(shown.code).toBe(1)
  expect(shown.out).toMatch(/Line 3 would move nothing now\..* The token answers: “false”\./)
  const before = await nonce()
  const paid = await pay(token, path)
  expect(paid.code).toBe(1)
  expect(statusesIn(paid)).toEqual(['paid', 'failed', 'paid'])
  expect(resultsIn(paid)[1]?.error).toContain('answers false')
  expect((await nonce()) - before).toBe(2)
  expect(await balances(token, to)).toEqual([100n, 0n, 100n])
  expect(statusesIn(await pay(token, path))).toEqual(['paid', 'failed', 'paid'])
  expect((await nonce()) - before).toBe(2)
})

test('a transfer that succeeds without moving the token is not paid: in no run, and sent again only on request', async () => {
  const [token, to] = [await deploy('LiarCoin'), fresh(2)]
  const path = await file('liar.csv', to)
  const paid = await pay(token, path)
  expect(paid.code).toBe(1)
  expect(statusesIn(paid)).toEqual(['unmoved', 'unmoved'])
  expect(resultsIn(paid)[0]?.error).toContain('the token reported no transfer')
  expect(await readFile(`${path}.results.csv`, 'utf8')).toMatch(/,0,LIAR,0x\w+,unmoved,/)
  const before = await nonce()
  const again = await send(token, path)
  expect(again.out).toContain('line 2 unmoved')
  expect(again.out).toContain('only --retry-reverted')
  expect(again.out).not.toMatch(/Paid [1-9]|paid before/)
  expect(await nonce()).toBe(before)
  expect((await send(token, path, '--dry-run')).out).toContain('2 lines are executed, and moved no tokens')
  expect(statusesIn(await pay(token, path, '--retry-reverted'))).toEqual(['unmoved', 'unmoved'])
  expect((await nonce()) - before).toBe(2)
  const report = JSON.parse((await run('report', [path, '--json'])).out)
  expect(report.lines.map(({ status }: { status: string }) => status)).toEqual(['unmoved', 'unmoved'])
})

test('a token without events is paid if the balances show it', async () => {
  const [token, to] = [await deploy('SilentCoin'), fresh(2)]
  const paid = await pay(token, await file('silent.csv', to))
  expect(paid.code).toBe(0)
  expect(statusesIn(paid)).toEqual(['paid', 'paid'])
})

test('a token that keeps a part of each transfer: the results and the end show the amount that the recipient got', async () => {
  const [token, to] = [await deploy('FeeCoin'), fresh(2)]
  const path = await file('fee.csv', to)
  const paid = await send(token, path, '--yes')
  expect(paid.code).toBe(1)
  expect(paid.out).toContain('Paid 2 of 2 lines, 0.000198 FEE.')
  expect(paid.out.replaceAll(/\s+/g, ' ')).toContain(
    'line 2 partial: OTHER_AMOUNT: The recipient got 0.000099 FEE of 0.0001 FEE',
  )
  expect(await readFile(`${path}.results.csv`, 'utf8')).toMatch(/,0\.000099,FEE,0x\w+,partial,/)
  expect(await balances(token, to)).toEqual([99n, 99n])
  await run('report', [path])
  expect(await readFile(`${path}.accounting.csv`, 'utf8')).toContain(',FEE,0.000099,')
})

test('each line of a pack is judged by the token as well', async () => {
  const [token, to] = [await deploy('SilentCoin'), fresh(5)]
  const disperse = await deployed(devnet, compileDisperse('Disperse'), 9)
  const paid = await pay(token, await file('pack.csv', to), '--pack', '5', '--disperse', disperse)
  expect(statusesIn(paid)).toEqual(Array(5).fill('paid'))
  const coin = await deploy('Coin')
  const packed = await pay(coin, await file('coin.csv', to), '--pack', '5', '--disperse', disperse)
  expect(statusesIn(packed)).toEqual(Array(5).fill('paid'))
})
