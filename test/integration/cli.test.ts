import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encryptKeystoreJson } from 'ethers'
import { getAddress, type Hex, parseGwei } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { accountKey } from '../../tools/devnet/accounts.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { createPlainRpc } from '../demo/plainRpc.js'
import { bundledChild } from '../support/bundleChild.js'
import { type Ended, ended } from '../support/ended.js'

const [ANNA, BOB] = [
  '0x000000000000000000000000000000000000a11a',
  '0x0000000000000000000000000000000000000B0b',
]

const SLIP_ACCOUNT = { address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', privateKey: accountKey(1) }

const program = bundledChild(new URL('../../tools/cli/main.ts', import.meta.url))
let devnet: Devnet
let folder: string
const children = new Set<ChildProcess>()

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200, baseFee: 'constant' })
})
afterAll(async () => {
  await devnet.stop()
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'txlane-cli-'))
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
  devnet.faults.clear()
  await rm(folder, { recursive: true, force: true })
})

const keyOf = (account: number | Hex) => (typeof account === 'number' ? accountKey(account) : account)

/** The command as a shell runs it, with the key of one of the devnet's accounts. */
function start(
  args: readonly string[],
  account: number | Hex = 0,
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, TXLANE_RPC_URL: devnet.url, TXLANE_PRIVATE_KEY: keyOf(account) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  return { child, ended: ended(child) }
}

const txlane = (args: readonly string[], account?: number): Promise<Ended> => start(args, account).ended

async function file(name: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `${lines.join('\n')}\n`)
  return path
}

const balanceOf = (address: string) => devnet.client().getBalance({ address: address as Hex })

test('txlane send pays each line once, however often it runs, and refuses a different file', async () => {
  const [annaBefore, bobBefore] = await Promise.all([balanceOf(ANNA), balanceOf(BOB)])
  const path = await file('pay.csv', ['to,amount', `${ANNA},1 gwei`, `${ANNA},1 gwei`, `${BOB},5 wei`])
  const dry = await txlane(['send', path, '--dry-run', '--json'])
  expect(dry).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(dry.out)).toMatchObject({ dryRun: true, lines: 3, total: '2000000005', repeated: [3] })
  expect(await balanceOf(BOB)).toBe(bobBefore)

  const first = await txlane(['send', path, '--yes', '--json'])
  expect(first.code).toBe(0)
  expect(JSON.parse(first.out)).toMatchObject({ counts: { paid: 3 }, paid: '2000000005' })
  const again = await txlane(['send', path, '--yes'])
  expect(again).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^Nothing was sent: all 3 lines were paid before, 2\.000000005 gwei, (at|from) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/,
    ),
  })
  expect([await balanceOf(ANNA), await balanceOf(BOB)]).toEqual([annaBefore + 2_000_000_000n, bobBefore + 5n])

  const results = await readFile(`${path}.results.csv`, 'utf8')
  expect(results.split('\n')[0]).toBe(
    'to,amount,line,id,recipient,paid,unit,token,status,nonce,hash,block,time,gas_used,fee,fee_unit,shared_by,error',
  )
  expect(results.match(/,ETH,,paid,\d/g)).toHaveLength(3)
  await writeFile(path, (await readFile(path, 'utf8')).replace('5 wei', '6 wei'))
  expect(await txlane(['send', path, '--yes'])).toMatchObject({
    code: 3,
    err: expect.stringContaining('has changed since'),
  })
  await writeFile(path, (await readFile(path, 'utf8')).replace('6 wei', '5 wei'))
  const renamed = join(folder, 'other.csv')
  await rename(path, renamed)
  expect(await txlane(['send', renamed, '--yes'])).toMatchObject({
    code: 3,
    err: expect.stringContaining('rename it back to pay.csv'),
  })
  expect(await balanceOf(BOB)).toBe(bobBefore + 5n)
})

test('the dry run makes a plan, txlane send checks it, and a journal of the first version is resumed', async () => {
  const path = await file('planned.csv', ['id,to,amount', `a,${ANNA},1 gwei`, `b,${BOB},5 wei`])
  const dry = await txlane(['send', path, '--dry-run'])
  const [, plan = ''] = /plan +([0-9a-f]{40})/.exec(dry.out) ?? []
  expect(dry).toMatchObject({ code: 0, out: expect.stringContaining(`planned.csv.txlane-plan.json`) })
  await writeFile(path, (await readFile(path, 'utf8')).replace('5 wei', '6 wei'))
  const changed = await txlane(['send', path, '--yes'])
  expect(changed).toMatchObject({
    code: 3,
    err: expect.stringContaining(`changed: line 3 (b), was 5 wei to ${BOB}, is 6 wei to ${BOB}`),
  })
  await rm(`${path}.txlane-plan.json`)
  expect(await txlane(['send', path, '--yes', '--plan', plan])).toMatchObject({
    code: 3,
    err: expect.stringContaining('Nothing was sent'),
  })
  await writeFile(path, (await readFile(path, 'utf8')).replace('6 wei', '5 wei'))
  const first = await txlane(['send', path, '--yes', '--plan', plan, '--json'])
  expect(JSON.parse(first.out)).toMatchObject({ plan, counts: { paid: 2 }, paidBefore: 0, transactions: 2 })

  const journal = `${path}.txlane.json`
  const { rows, ...head } = JSON.parse(await readFile(journal, 'utf8')) as { rows: Record<string, unknown>[] }
  const old = rows.map(({ line, id, shown, content }) => ({ line, id, shown, content }))
  await writeFile(journal, JSON.stringify({ ...head, version: 1, rows: old }))
  const before = await balanceOf(BOB)
  const resumed = await txlane(['send', path, '--yes', '--json'])
  expect(JSON.parse(resumed.out)).toMatchObject({ counts: { paid: 2 }, paidBefore: 2, transactions: 0 })
  expect(await balanceOf(BOB)).toBe(before)
  expect(JSON.parse(await readFile(journal, 'utf8'))).toMatchObject({ version: 2, plan, rows })

  const { lines, ...payout } = JSON.parse((await txlane(['report', path, '--json'])).out)
  expect(payout).toMatchObject({ file: 'planned.csv', chain: { id: 31_337, symbol: 'ETH' } })
  expect(lines).toMatchObject([
    { id: 'a', to: getAddress(ANNA), amount: '1000000000', status: 'paid', sharedBy: 1 },
    { id: 'b', to: BOB, amount: '5', status: 'paid', sharedBy: 1 },
  ])
})

test('a killed run is resumed by the next one: no line is lost, and none is paid twice', async () => {
  const payees = Array.from(
    { length: 120 },
    (_, index) => `0x${(0xbeef00 + index).toString(16).padStart(40, '0')}`,
  )
  const path = await file('many.csv', ['to,amount', ...payees.map((to, index) => `${to},${index + 1} wei`)])
  devnet.faults.inject({ fault: 'lostResponse', method: 'eth_sendRawTransaction', probability: 0.3 })
  const { child, ended } = start(['send', path, '--yes'], 1)
  const sender = devnet.accounts[1]!.address
  // Some transactions are in blocks, others are not.
  const client = devnet.client()
  const some = async () => (await client.getTransactionCount({ address: sender })) > 0
  while (!(await some()))
    await new Promise((resolve) => client.getBlockNumber({ cacheTime: 0 }).then(resolve))
  child.kill('SIGKILL')
  await ended
  devnet.faults.clear()
  const second = await txlane(['send', path, '--yes', '--json'], 1)
  expect({ code: second.code, counts: JSON.parse(second.out).counts }).toMatchObject({
    code: 0,
    counts: { paid: 120 },
  })
  const balances = await Promise.all(payees.map(balanceOf))
  expect(balances).toEqual(payees.map((_, index) => BigInt(index + 1)))
})

// Reverts for 0, and stores any other value.
const STORING: Hex = '0x600f8060095f395ff36004358015600b575f55005b5f5ffd'

test('reverted lines are reported, and sent again only on request', async () => {
  const client = devnet.client(2)
  const { contractAddress } = await client.waitForTransactionReceipt({
    hash: await client.deployContract({ abi: [], bytecode: STORING }),
  })
  const call = { to: contractAddress, function: 'set(uint256 value)', gas: 60_000 }
  const path = await file('calls.jsonl', [
    JSON.stringify({ id: 'bad', ...call, args: [0] }),
    JSON.stringify({ id: 'good', ...call, args: [7] }),
  ])
  const count = () =>
    client.getTransactionCount({ address: devnet.accounts[2]!.address, blockTag: 'pending' })
  const before = await count()
  const first = await txlane(['send', path, '--yes', '--json'], 2)
  expect({ code: first.code, counts: JSON.parse(first.out).counts }).toMatchObject({
    code: 1,
    counts: { paid: 1, reverted: 1 },
  })
  expect(await txlane(['send', path, '--yes'], 2)).toMatchObject({
    code: 1,
    out: expect.stringContaining('line 1 reverted'),
  })
  expect(await count()).toBe(before + 2)
  expect(await txlane(['send', path, '--yes', '--retry-reverted'], 2)).toMatchObject({ code: 1 })
  expect(await count()).toBe(before + 3)
})

test('txlane inspect, speed-up, cancel and fill show and repair stuck transactions', async () => {
  const client = devnet.client(3)
  const { address } = devnet.accounts[3]!
  const own = (nonce: number, gwei: string) =>
    client.sendTransaction({
      to: address,
      nonce,
      gas: 21_000n,
      maxFeePerGas: parseGwei(gwei),
      maxPriorityFeePerGas: 1n,
    })
  await own(0, '0.001')
  await own(2, '50')
  await own(3, '50')
  const look = await txlane(['inspect', address, '--json'], 3)
  expect(JSON.parse(look.out)).toMatchObject({
    counts: { latest: 0 },
    holes: [1],
    stuck: expect.stringContaining('but the base fee is'),
    waiting: [{ nonce: 0 }, { nonce: 2 }, { nonce: 3 }],
  })
  expect(look.code).toBe(1)
  expect(await txlane(['speed-up', '0', '--yes'], 3)).toMatchObject({
    code: 0,
    out: expect.stringContaining('Executed as'),
  })
  expect(await txlane(['fill', address, '--dry-run'], 3)).toMatchObject({
    code: 0,
    out: expect.stringContaining('Would send 1 transfer'),
  })
  expect(await txlane(['fill', address, '--yes'], 2)).toMatchObject({
    code: 3,
    err: expect.stringContaining('The key is that of'),
  })
  expect(await txlane(['fill', address, '--yes'], 3)).toMatchObject({
    code: 0,
    out: expect.stringContaining('The gaps are filled'),
  })
  await own(4, '0.001')
  expect(await txlane(['cancel', '4', '--yes'], 3)).toMatchObject({
    code: 0,
    out: expect.stringContaining('Cancelled'),
  })
  const mended = await txlane(['inspect', address], 3)
  expect(mended).toMatchObject({ code: 0, out: expect.stringContaining('in a sealed block') })
  expect(mended.out).toContain('missing      none')
})

test('a run that cannot continue reports the reason once, and txlane inspect --journal shows it afterwards', async () => {
  const path = await file('poor.csv', ['id,to,amount', `first,${ANNA},1 wei`, `second,${BOB},1 wei`])
  const poor = privateKeyToAccount(`0x${'5'.repeat(64)}`).address
  const { child, ended } = start(['send', path, '--yes'], `0x${'5'.repeat(64)}`)
  let err = ''
  await new Promise<void>((resolve) =>
    child.stderr?.on('data', (chunk: Buffer) => {
      err += chunk.toString()
      if (err.includes('first: It waits for money')) resolve()
    }),
  )
  // The reasons of both lines are stored after the first one was printed.
  const look = ['inspect', poor, '--json', '--store', `${path}.txlane.db`]
  const storedNow = async () => JSON.parse((await txlane(look)).out).stored
  while ((await storedNow()).transactions.length < 2);
  child.kill('SIGKILL')
  await ended
  expect(err.match(/The account cannot pay the next transaction/g)).toHaveLength(1)
  expect(err.match(/It waits for money/g)).toHaveLength(1)

  const seen = await txlane(['inspect', poor, '--journal', path])
  expect(seen.code).toBe(1)
  expect(seen.out).toMatch(/2 in .*poor\.csv\.txlane\.db wait for: funds/)
  expect(seen.out).toMatch(
    /first \(queued\): It waits for money: it may cost \d+ wei, and the account has 0 wei/,
  )
  expect(await storedNow()).toMatchObject({
    count: 2,
    transactions: [{ id: 'first', waitingFor: { for: 'funds' } }, {}],
  })
  const none = await txlane(['inspect', poor, '--store', join(folder, 'none.db')])
  expect(none).toMatchObject({ code: 3, err: expect.stringContaining('There is no store at') })
  expect(existsSync(join(folder, 'none.db'))).toBe(false)
})

test('txlane devnet prints its URL once it is up, and ends on request', async () => {
  const { child, ended } = start([
    'devnet',
    '--port',
    '0',
    '--accounts',
    '2',
    '--json',
    '--fault',
    'lostRequest=1',
  ])
  const line = await new Promise<string>((resolve) =>
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString())),
  )
  const { url, accounts } = JSON.parse(line) as { url: string; accounts: { key: Hex }[] }
  expect(accounts.map(({ key }) => key)).toEqual([accountKey(0), accountKey(1)])
  await expect(fetch(url, { method: 'POST', body: '{}' })).rejects.toThrow()
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 0, err: '' })
})

test.each([
  ['fastBlocks', ['0x7e', '0x7e']],
  ['plain', []],
])('txlane devnet --mode %s --mining manual makes a block when it is asked to', async (mode, types) => {
  const { child, ended } = start(['devnet', '--port', '0', '--json', '--mode', mode, '--mining', 'manual'])
  const line = await new Promise<string>((resolve) =>
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString())),
  )
  const { url } = JSON.parse(line) as { url: string }
  const plain = createPlainRpc(url)
  expect(JSON.parse(line)).toMatchObject({ mode })
  expect(await plain.call('eth_blockNumber')).toBe('0x0')
  await plain.call('evm_mine')
  const block = (await plain.call('eth_getBlockByNumber', '0x1', true)) as { transactions: { type: Hex }[] }
  expect(block.transactions.map(({ type }) => type)).toEqual(types)
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 0, err: '' })
})

const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const SECRET = 'c0ffee5eedc0ffee5eedc0ffee5eedc0ffee5eedc0ffee5eedc0ffee5eedc0ff'

test.each<[string, string, readonly string[]]>([
  ['a key', `0x${SECRET}`, [SECRET]],
  ['a key without 0x', SECRET, [SECRET]],
  ['a key that lost digits', SECRET.slice(0, 59), [SECRET.slice(0, 59)]],
  ['a key in base64', Buffer.from(SECRET, 'hex').toString('base64'), ['wP/uXu3A']],
  ['a mnemonic', PHRASE, ['winner', 'sausage', 'yellow']],
  ['a URL with credentials', 'https://me:pass-w0rd@vault.example/v1/t0ken-of-mine', ['pass-w0rd', 't0ken']],
  ['a password', 'correct-horse-battery', ['correct-horse']],
])('%s in place of a file is never printed, and the option is named', async (_, slip, secrets) => {
  const good = await file('good.csv', ['to,amount', `${ANNA},1 wei`])
  const keystore = await file('keystore.json', [
    await encryptKeystoreJson(SLIP_ACCOUNT, 'x', { scrypt: { N: 2 } }),
  ])
  const slips: readonly (readonly [option: string, args: readonly string[]])[] = [
    ['--key-file', ['--key-file', slip]],
    ['--key-file', [`--key-file=${slip}`]],
    ['--keystore', ['--keystore', slip]],
    ['--mnemonic-file', ['--mnemonic-file', slip]],
    ['--key-env', ['--key-env', slip]],
    ['--mnemonic-env', ['--mnemonic-env', slip]],
    ['--password-file', ['--keystore', keystore, '--password-file', slip]],
  ]
  const runs = await Promise.all(slips.map(([, args]) => txlane(['send', good, '--yes', ...args])))
  for (const [index, { code, out, err }] of runs.entries()) {
    expect([2, 3]).toContain(code)
    expect(err).toContain(slips[index]?.[0])
    for (const secret of secrets) expect(`${out}${err}`).not.toContain(secret)
  }
})

test('a command with bad input is refused at once, with an exit code of its own, and shows no secret', async () => {
  const path = await file('bad.csv', ['to,amount', `${ANNA},1`])
  expect(await txlane(['send', path, '--yes'])).toMatchObject({
    code: 3,
    err: expect.stringMatching(/line 2 "1" has no unit/),
  })
  expect(await txlane(['send', join(folder, 'none.csv'), '--yes'])).toMatchObject({ code: 3 })
  const good = await file('good.csv', ['to,amount', `${ANNA},1 wei`])
  expect(await txlane(['send', good])).toMatchObject({ code: 3, err: expect.stringContaining('give --yes') })
  expect(await txlane(['send', good, '--rpc', 'http://user:pass@127.0.0.1:1/key', '--yes'])).toMatchObject({
    code: 3,
    err: 'http://127.0.0.1:1 does not answer eth_chainId: "bad port".\n',
  })
  expect(await txlane(['send', good, '--token', ANNA.slice(0, -1)])).toMatchObject({ code: 2 })
  expect(await txlane(['pay', good])).toMatchObject({
    code: 2,
    err: expect.stringContaining('There is no command "pay"'),
  })
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await txlane(['--version'])).toMatchObject({ code: 0, out: `${version}\n` })
  expect(await txlane(['send', good, '--rpc', ''])).toMatchObject({
    code: 2,
    err: expect.stringContaining('is empty'),
  })
  const help = await txlane(['--help'])
  expect(help).toMatchObject({ code: 0, out: expect.stringContaining('Exit codes: 0 success') })
})
