import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Address, erc20Abi, type Hex, parseAbi, parseAbiItem, parseGwei } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { accountKey } from '../../tools/devnet/accounts.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { bundledChild } from '../support/bundleChild.js'
import { type Ended, ended } from '../support/ended.js'
import { type NodeProxy, type ProxiedCall, startNodeProxy } from '../support/nodeProxy.js'
import { pause } from '../support/pause.js'
import {
  compileDisperse,
  compileRecipient,
  compileToken,
  type DisperseName,
  type TokenName,
} from '../support/payoutContracts.js'
import {
  BLOCKER,
  type Code,
  counting,
  deployed,
  fresh,
  packsIn,
  resultsIn,
  statusesIn,
} from './sendPackSupport.js'

const program = bundledChild(new URL('../../tools/cli/main.ts', import.meta.url))

let devnet: Devnet
let folder: string
let disperse: Address
const children = new Set<ChildProcess>()

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, baseFee: 'constant' })
  disperse = await deploy(compileDisperse('Disperse'), 9)
})
afterAll(() => devnet.stop())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-pack-'))
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  await rm(folder, { recursive: true, force: true })
})

const deploy = (code: Code, account: number, on = devnet) => deployed(on, code, account)

function start(args: readonly string[], account: number, url = devnet.url) {
  const child = spawn(process.execPath, [program, 'send', ...args, '--yes', '--json'], {
    env: { PATH: process.env.PATH, TXLANE_RPC_URL: url, TXLANE_PRIVATE_KEY: accountKey(account) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  return { child, ended: ended(child) }
}

const send = (args: readonly string[], account: number): Promise<Ended> => start(args, account).ended

async function file(name: string, payments: readonly (readonly [to: Address, amount: string])[]) {
  const path = join(folder, name)
  const lines = payments.map(([to, amount], index) => `p${index + 1},${to},${amount}`)
  await writeFile(path, `id,to,amount\n${lines.join('\n')}\n`)
  return path
}

const weiFile = (name: string, to: readonly Address[]) =>
  file(
    name,
    to.map((each, index) => [each, `${index + 1} wei`]),
  )
const coinFile = (name: string, to: readonly Address[]) =>
  file(
    name,
    to.map((each, index) => [each, `${index + 1} base`]),
  )

const inWei = (to: readonly Address[]) =>
  Promise.all(to.map((address) => devnet.client().getBalance({ address })))
const inCoins = (token: Address, to: readonly Address[]) =>
  Promise.all(
    to.map((each) =>
      devnet
        .client()
        .readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [each] }),
    ),
  )
const allowance = (token: Address, account: number, spender = disperse) =>
  devnet.client().readContract({
    address: token,
    abi: erc20Abi,
    functionName: 'allowance',
    args: [devnet.accounts[account]?.address as Address, spender],
  })

const nonceOf = (account: number) =>
  devnet.client().getTransactionCount({ address: devnet.accounts[account]?.address as Address })

test('a packed run pays what a plain run pays, in fewer transactions, and divides their fees', async () => {
  const [plain, packed] = [fresh(23), fresh(23)]
  expect(await send([await weiFile('plain.csv', plain)], 0)).toMatchObject({ code: 0 })
  const path = await weiFile('packed.csv', packed)
  const before = await nonceOf(0)
  const run = await send([path, '--pack', '10', '--disperse', disperse], 0)
  expect(run).toMatchObject({ code: 0 })
  expect(await inWei(packed)).toEqual(await inWei(plain))
  expect(await inWei(packed)).toEqual(counting(23))
  expect((await nonceOf(0)) - before).toBe(3)
  const results = resultsIn(run)
  expect(results.map(({ sharedBy }) => sharedBy)).toEqual([...Array(20).fill(10), ...Array(3).fill(3)])
  for (const hash of new Set(results.map((each) => each.hash as Hex))) {
    const { gasUsed, effectiveGasPrice } = await devnet.client().getTransactionReceipt({ hash })
    const shares = results.filter((each) => each.hash === hash).map(({ feeWei }) => BigInt(feeWei as string))
    expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(gasUsed * effectiveGasPrice)
  }
  expect(await send([path, '--pack', '7', '--disperse', disperse], 0)).toMatchObject({ code: 0 })
  expect(await inWei(packed)).toEqual(counting(23))
  await rename(`${path}.txlane.packs.jsonl`, `${path}.gone`)
  expect(await send([path], 0)).toMatchObject({ code: 3, err: expect.stringContaining('is missing') })
})

test('a token is approved for exactly the sum, and each line has a Transfer from the account', async () => {
  const token = await deploy(compileToken('StrictCoin'), 1)
  // An approval from before: the token only accepts a change to zero.
  const client = devnet.client(1)
  await client.waitForTransactionReceipt({
    hash: await client.writeContract({
      address: token,
      abi: erc20Abi,
      functionName: 'approve',
      args: [disperse, 5n],
    }),
  })
  const to = fresh(12)
  const path = await coinFile('coins.csv', to)
  const run = await send([path, '--token', token, '--pack', '5', '--disperse', disperse], 1)
  expect(run).toMatchObject({ code: 0 })
  const approvals = packsIn(path).flatMap(({ approval, amount }) => (approval ? [amount] : []))
  expect(approvals).toEqual(['0', '78'])
  const logs = await client.getLogs({
    address: token,
    event: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 amount)'),
    fromBlock: 'earliest',
  })
  const payer = devnet.accounts[1]?.address
  expect(logs.map(({ args }) => args)).toEqual(
    to.map((each, index) => ({
      from: payer,
      to: expect.stringMatching(new RegExp(each, 'i')),
      amount: BigInt(index + 1),
    })),
  )
  expect(await allowance(token, 1)).toBe(0n)
})

test('lines that fail in a pack are found, the others are paid, and the next run pays them', async () => {
  const token = await deploy(compileToken('Coin'), 2)
  const closed = await deploy(compileRecipient(), 9)
  // Of another account: a stranger to the journal would hold the lane.
  const client = devnet.client(9)
  const [coins, ether] = [fresh(16), fresh(15)]
  const blocked = coins[6] as Address
  const done = async (hash: Promise<Hex>) => client.waitForTransactionReceipt({ hash: await hash })
  await done(client.writeContract({ address: token, abi: BLOCKER, functionName: 'block_', args: [blocked] }))

  const path = await coinFile('coins.csv', coins)
  const run = await send([path, '--token', token, '--pack', '16', '--disperse', disperse], 2)
  expect(run).toMatchObject({ code: 1, err: expect.stringContaining('line 8: execution reverted') })
  expect(resultsIn(run)[6]).toMatchObject({ status: 'failed', error: expect.stringContaining('is blocked') })
  expect(await inCoins(token, coins)).toEqual(counting(16).map((amount) => (amount === 7n ? 0n : amount)))
  // The pack without the line is one transaction, and nothing of the approval is left.
  expect(packsIn(path).flatMap(({ rows }) => (rows ? [rows.length] : []))).toEqual([15])
  expect(await allowance(token, 2)).toBe(0n)

  const mixed = await weiFile('wei.csv', [...ether.slice(0, 9), closed, ...ether.slice(9)])
  const first = await send([mixed, '--pack', '8', '--disperse', disperse], 2)
  expect(first).toMatchObject({ code: 1 })
  expect(statusesIn(first).map((status) => status === 'failed')).toEqual(
    counting(16).map((each) => each === 10n),
  )
  await done(
    client.writeContract({ address: closed, abi: parseAbi(['function open()']), functionName: 'open' }),
  )
  expect(await send([mixed, '--pack', '8', '--disperse', disperse], 2)).toMatchObject({ code: 0 })
  expect(await inWei([...ether, closed])).toEqual([...counting(16).filter((each) => each !== 10n), 10n])
})

test('a line for which a token answers false is failed, and not called paid', async () => {
  const token = await deploy(compileToken('ShyCoin'), 2)
  const to = fresh(4)
  const client = devnet.client(9)
  const args = [to[3] as Address] as const
  const hash = await client.writeContract({ address: token, abi: BLOCKER, functionName: 'block_', args })
  await client.waitForTransactionReceipt({ hash })
  const path = await coinFile('shy.csv', to)
  const run = await send([path, '--token', token, '--pack', '4', '--disperse', disperse], 2)
  expect(statusesIn(run)).toEqual(['paid', 'paid', 'paid', 'failed'])
  expect(await inCoins(token, to)).toEqual([1n, 2n, 3n, 0n])
})

/** Runs the command behind a proxy that kills it before a request that `when` picks. */
async function killed(
  args: readonly string[],
  account: number,
  when: (calls: readonly ProxiedCall[]) => boolean,
): Promise<void> {
  let child: ChildProcess | undefined
  const rule = (calls: readonly ProxiedCall[]) => {
    if (child?.killed || !when(calls)) return { type: child?.killed ? 'loseRequest' : 'pass' } as const
    child?.kill('SIGKILL')
    return { type: 'loseRequest' } as const
  }
  await using proxy: NodeProxy = await startNodeProxy(devnet.url, { rule })
  const run = start(args, account, proxy.url)
  child = run.child
  expect((await run.ended).code).toBe(null)
}

/** True from the request after this many raw transactions on. */
const afterSends = (count: number) => {
  let seen = 0
  return (calls: readonly ProxiedCall[]) => {
    if (seen >= count) return true
    seen += calls.filter(({ method }) => method === 'eth_sendRawTransaction').length
    return false
  }
}

test.each<[string, (path: string) => (calls: readonly ProxiedCall[]) => boolean, readonly string[]]>([
  ['after the approval was written', (path) => () => packsIn(path).length > 1, ['--pack', '3']],
  ['after the approval was sent', () => afterSends(1), []],
  ['after a pack was written', (path) => () => packsIn(path).some(({ pack }) => pack), ['--pack', '4']],
  ['after a pack was sent', () => afterSends(2), ['--pack', '7']],
  ['after several packs were sent', () => afterSends(4), []],
])(
  'a run that is killed %s pays each line once when it is resumed with another size',
  async (_, when, pack) => {
    const token = await deploy(compileToken('Coin'), 3)
    const to = fresh(20)
    const path = await coinFile('coins.csv', to)
    const args = [path, '--token', token]
    const contract = ['--disperse', disperse]
    await killed([...args, '--pack', '4', ...contract], 3, when(path))
    const again = await send([...args, ...pack, ...(pack.length > 0 ? contract : [])], 3)
    expect(again).toMatchObject({ code: 0 })
    expect(await inCoins(token, to)).toEqual(counting(20))
    expect(await allowance(token, 3)).toBe(0n)
    const shared = resultsIn(again).map(({ sharedBy = 1 }) => sharedBy)
    expect(Math.max(...shared)).toBeLessThanOrEqual(7)
  },
)

test('a file begun plain is resumed packed: lines that were begun stay alone', async () => {
  const to = fresh(40)
  const path = await weiFile('wei.csv', to)
  const begun = () => afterSends(1)
  await killed([path], 4, begun())
  const again = await send([path, '--pack', '10', '--disperse', disperse], 4)
  expect(again).toMatchObject({ code: 0 })
  expect(await inWei(to)).toEqual(counting(40))
})

test('an interrupted run takes its approval back, and the next run pays the rest', async () => {
  const token = await deploy(compileToken('Coin'), 5)
  const to = fresh(60)
  const path = await coinFile('coins.csv', to)
  const args = [path, '--token', token, '--pack', '2', '--disperse', disperse]
  const run = start(args, 5)
  while (packsIn(path).length < 5 && run.child.exitCode === null)
    await new Promise((resolve) => devnet.client().getBlockNumber({ cacheTime: 0 }).then(resolve))
  run.child.kill('SIGINT')
  const stopped = await run.ended
  expect({ code: stopped.code, left: await allowance(token, 5) }, stopped.err).toEqual({
    code: 130,
    left: 0n,
  })
  expect(statusesIn(stopped)).toContain('open')
  expect(await send(args, 5)).toMatchObject({ code: 0 })
  expect(await inCoins(token, to)).toEqual(counting(60))
  expect(await allowance(token, 5)).toBe(0n)
})

/** Makes blocks until the work has ended, but none while `isHeld`. */
async function sealing<t>(chain: Devnet, work: Promise<t>, isHeld = async () => false): Promise<t> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  work.then(over, over)
  while (!isOver) {
    if (!(await isHeld())) await chain.seal()
    await pause(50)
  }
  return work
}

test('a pack that reverts in its block pays nobody, and is sent again only on request', async () => {
  await using chain = await startDevnet({ mining: 'manual', mode: 'plain' })
  const [contract, token] = await sealing(
    chain,
    Promise.all([deploy(compileDisperse('Disperse'), 8, chain), deploy(compileToken('Coin'), 0, chain)]),
  )
  const to = fresh(6)
  const path = await coinFile('coins.csv', to)
  const args = [path, '--token', token, '--pack', '6', '--disperse', contract]
  const first = start(args, 0, chain.url)
  // The transaction after the pin is that of the pack.
  while (!packsIn(path).some(({ pack }) => pack)) {
    await chain.seal()
    await pause(50)
  }
  while ((await chain.pool()).length === 0) await pause(50)
  // Others block a recipient after the estimate, and before the pack.
  const hash = await chain.client(7).writeContract({
    address: token,
    abi: BLOCKER,
    functionName: 'block_',
    args: [to[2] as Address],
    maxPriorityFeePerGas: parseGwei('50'),
    maxFeePerGas: parseGwei('200'),
  })
  expect(hash).toMatch(/^0x/)
  expect(statusesIn(await sealing(chain, first.ended))).toEqual(Array(6).fill('reverted'))
  const balances = (each: readonly Address[]) =>
    Promise.all(
      each.map((owner) =>
        chain
          .client()
          .readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
      ),
    )
  expect(await balances(to)).toEqual(Array(6).fill(0n))
  expect(statusesIn(await sealing(chain, start(args, 0, chain.url).ended))).toEqual(Array(6).fill('reverted'))
  const retried = await sealing(chain, start([...args, '--retry-reverted'], 0, chain.url).ended)
  expect(statusesIn(retried)).toEqual(['paid', 'paid', 'failed', 'paid', 'paid', 'paid'])
  expect(await balances(to)).toEqual([1n, 2n, 0n, 4n, 5n, 6n])
})

test.each<[string, DisperseName, TokenName | undefined, RegExp]>([
  ['lets anybody draw', 'OpenDisperse', 'Coin', /a stranger took 3 COIN of an approval/],
  ['draws from the origin', 'OriginDisperse', 'Coin', /a stranger took 3 COIN of an approval/],
  ['keeps a part', 'FeeDisperse', undefined, /would not pay .* exactly/],
  ['moves a token that takes a fee', 'Disperse', 'FeeCoin', /would not pay FEE .* exactly/],
  ['moves a token that answers false', 'Disperse', 'FalseCoin', /FALSE .* cannot be paid through/],
  ['moves a token that answers nothing', 'Disperse', 'OldCoin', /OLD .* cannot be paid through/],
])('a contract that %s is refused before anything is sent', async (_, name, coin, why) => {
  const contract = name === 'Disperse' ? disperse : await deploy(compileDisperse(name), 6)
  const token = coin && (await deploy(compileToken(coin), 6))
  const path = await file(
    'pay.csv',
    fresh(2).map((to) => [to, coin ? '1.5 tokens' : '150 wei']),
  )
  const before = await nonceOf(6)
  const args = [path, '--pack', '2', '--disperse', contract, ...(token ? ['--token', token] : [])]
  const run = await send(args, 6)
  expect(run).toMatchObject({ code: 3, err: expect.stringMatching(why) })
  expect(await nonceOf(6)).toBe(before)
  expect(existsSync(`${path}.txlane.json`)).toBe(false)
})

test('two runs of a file at once: the one with packs is alone', async () => {
  const path = await weiFile('wei.csv', fresh(6))
  const args = [path, '--pack', '3', '--disperse', disperse]
  await using proxy = await startNodeProxy(devnet.url, {
    rule: (calls) => ({
      type: calls.some(({ method }) => method === 'eth_sendRawTransaction') ? 'loseRequest' : 'pass',
    }),
  })
  const first = start(args, 7, proxy.url)
  while (packsIn(path).length < 2)
    await new Promise((resolve) => devnet.client().getBlockNumber({ cacheTime: 0 }).then(resolve))
  expect(await send([path], 7)).toMatchObject({ code: 3, err: expect.stringContaining('Another process') })
  first.child.kill('SIGKILL')
  await first.ended
})

test('a chain without the published contract, and an address without one, are refused', async () => {
  const path = await weiFile('wei.csv', fresh(3))
  expect(await send([path, '--pack', '3'], 7)).toMatchObject({
    code: 3,
    err: expect.stringContaining('Give another one with --disperse'),
  })
  const nothing = fresh(1)[0] as Address
  expect(await send([path, '--pack', '3', '--disperse', nothing], 7)).toMatchObject({
    code: 3,
    err: expect.stringContaining('there is no contract at this address'),
  })
  expect(await send([path, '--pack', '0'], 7)).toMatchObject({ code: 2 })
  expect(await send([path, '--disperse', disperse], 7)).toMatchObject({ code: 2 })
  const dry = await send([path, '--pack', '3', '--disperse', disperse, '--dry-run'], 7)
  expect(JSON.parse(dry.out)).toMatchObject({ transactions: 1, packs: { packs: 1, alone: [] } })
  expect(await readFile(path, 'utf8')).toContain('p1')
})
