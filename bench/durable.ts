// What durable stores cost a burst: `npm run bench:durable -- [--rounds N] [--transactions N] [--presigned] [--json]`.
// The same burst through one sender, on bare anvil (the devnet's gateway would be measured otherwise), with the memory
// store, SQLite with `synchronous` NORMAL and FULL, and PostgreSQL; the stores take turns. Then through PostgreSQL with
// two processes that share one key. Each round is read back from the blocks before its rate counts.
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import {
  type Address,
  createClient,
  defineChain,
  type Hex,
  http,
  keccak256,
  type LocalAccount,
  toHex,
} from 'viem'
import { findAnvil } from '../src/devnet/anvilPath.js'
import { startAnvil } from '../src/devnet/anvilProcess.js'
import { createSender, memoryStore, type Sender, type Store } from '../src/index.js'
import { nativeAccount } from '../src/signer/index.js'
import { postgresStore } from '../src/store/postgres/index.js'
import { sqliteStore } from '../src/store/sqlite/index.js'
import { startPostgres } from '../test/support/postgres.js'

type Kind = 'memory' | 'sqliteNormal' | 'sqliteFull' | 'postgres'

const KINDS: readonly Kind[] = ['memory', 'sqliteNormal', 'sqliteFull', 'postgres']
const NORMAL_TO_REACH = 0.6
const POSTGRES_TO_REACH = 1_000
const CHAIN_ID = 31_337
const GWEI = 10n ** 9n
const FEES = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
const NOBODY: Address = '0x00000000000000000000000000000000000000aa'
const LIMITS = { windowMax: 8_192, window: 2_048 }

type Options = {
  readonly rounds: number
  readonly transactions: number
  readonly presigned: boolean
  readonly json: boolean
}

function optionsOf(argv: readonly string[]): Options {
  const number = (name: string, otherwise: number) => {
    const at = argv.indexOf(name)
    const value = at < 0 ? otherwise : Number(argv[at + 1])
    if (!Number.isSafeInteger(value) || value < 1)
      throw new Error(`${name}: expected a whole number above 0.`)
    return value
  }
  return {
    rounds: number('--rounds', 5),
    transactions: number('--transactions', 5_000),
    presigned: argv.includes('--presigned'),
    json: argv.includes('--json'),
  }
}

const request = (marker: number) => ({ to: NOBODY, value: BigInt(marker), gas: 21_000n, ...FEES })

function accountOf(number: number): LocalAccount {
  return nativeAccount(keccak256(toHex(`bench durable ${number}`)))
}

async function call<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result, error } = (await response.json()) as { result: T; error?: { message: string } }
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

function senderOf(url: string, account: LocalAccount, store: Store): Sender {
  const chain = defineChain({
    id: CHAIN_ID,
    name: 'bench',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  const client = createClient({ account, chain, transport: http(url, { retryCount: 0 }) })
  return createSender({ client, store, lossDepth: 'child', limits: LIMITS }) as unknown as Sender
}

/** Signs beforehand what the lane will ask for: of such a burst item and nonce go in step. */
async function presigned(account: LocalAccount, count: number): Promise<LocalAccount> {
  const made = new Map<number, Hex>()
  for (let nonce = 0; nonce < count; nonce++) {
    const content = { type: 'eip1559', chainId: CHAIN_ID, nonce, ...request(nonce + 1) } as const
    made.set(nonce, await account.signTransaction(content))
  }
  const signTransaction = async (asked: { nonce?: number; value?: bigint }) => {
    const known = asked.value === BigInt((asked.nonce ?? -1) + 1) ? made.get(asked.nonce ?? -1) : undefined
    return known ?? account.signTransaction(asked as never)
  }
  return { ...account, signTransaction } as LocalAccount
}

/** Of one burst, from the first call of `send` to the last acceptance. */
type Burst = {
  readonly perSecond: number
  /** What this process computed for each: of use where the machine has other work, too. */
  readonly cpuMs: number
}

async function burst(sender: Sender, first: number, count: number, name: string): Promise<Burst> {
  await sender.ready()
  const [begun, cpu] = [performance.now(), process.cpuUsage()]
  const all = Array.from({ length: count }, (_, index) =>
    sender.send(request(first + index), { id: `${name}-${first + index}` }),
  )
  await Promise.all(all)
  const perSecond = (count * 1_000) / (performance.now() - begun)
  const { user, system } = process.cpuUsage(cpu)
  await sender.drain()
  return { perSecond, cpuMs: (user + system) / 1_000 / count }
}

/** Every item was executed once, and nothing else: read from the blocks. */
async function checkChain(
  url: string,
  { address }: LocalAccount,
  fromBlock: number,
  count: number,
): Promise<void> {
  const head = Number(await call<Hex>(url, 'eth_blockNumber', []))
  const times = new Uint32Array(count + 1)
  let all = 0
  for (let number = fromBlock; number <= head; number++) {
    const block = await call<{ transactions: { from: string; value: Hex; nonce: Hex }[] }>(
      url,
      'eth_getBlockByNumber',
      [toHex(number), true],
    )
    for (const { from, value } of block.transactions) {
      if (from.toLowerCase() !== address.toLowerCase()) continue
      all++
      times[Number(value)] = (times[Number(value)] ?? 0) + 1
    }
  }
  const once = times.slice(1).every((time) => time === 1)
  if (!once || all !== count) throw new Error(`not each exactly once: ${all} executed of ${count}`)
}

async function prepare(url: string, number: number) {
  const account = accountOf(number)
  await call(url, 'anvil_setBalance', [account.address, toHex(10n ** 24n)])
  return { account, fromBlock: Number(await call<Hex>(url, 'eth_blockNumber', [])) }
}

function openStore(kind: Kind, folder: string, number: number, connectionString: string): Store {
  const path = join(folder, `${number}.db`)
  switch (kind) {
    case 'memory':
      return memoryStore()
    case 'sqliteNormal':
      return sqliteStore({ path, synchronous: 'NORMAL' })
    case 'sqliteFull':
      return sqliteStore({ path, synchronous: 'FULL' })
    case 'postgres':
      return postgresStore({ connectionString })
    default:
      return kind satisfies never
  }
}

type Spread = {
  readonly median: number
  readonly least: number
  readonly most: number
  readonly rates: readonly number[]
}

function spread(rates: readonly number[]): Spread {
  const sorted = [...rates].sort((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? 0
  return { median: at(sorted.length >> 1), least: at(0), most: at(sorted.length - 1), rates: sorted }
}

async function takeTurns(url: string, connectionString: string, folder: string, options: Options) {
  const { rounds, transactions } = options
  const bursts: Record<Kind, Burst[]> = { memory: [], sqliteNormal: [], sqliteFull: [], postgres: [] }
  // The first round warms the code and the caches up, and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const [place, kind] of KINDS.entries()) {
      const number = round * KINDS.length + place
      const { account, fromBlock } = await prepare(url, number)
      const signer = options.presigned ? await presigned(account, transactions) : account
      const store = openStore(kind, folder, number, connectionString)
      const sender = senderOf(url, signer, store)
      const one = await burst(sender, 1, transactions, `${number}`)
      await checkChain(url, account, fromBlock, transactions)
      await sender.close()
      await store.close()
      if (round > 0) bursts[kind].push(one)
      const { perSecond, cpuMs } = one
      process.stderr.write(
        `round ${round}, ${kind}: ${Math.round(perSecond)} accepted a second, ${cpuMs.toFixed(2)} ms of CPU each\n`,
      )
    }
  }
  return bursts
}

// --- two processes, one key ------------------------------------------------------------------------------------

type Said =
  | { readonly ready: true }
  | { readonly held: string }
  | { readonly done: true }
  | { readonly failed: string }
type Task = { readonly name: string; readonly first: number; readonly count: number }

/** Sends its half when it is told to. A process that does not hold the lane leaves its half to the one that does. */
async function worker(url: string, connectionString: string, number: number): Promise<void> {
  const store = postgresStore({ connectionString })
  const sender = senderOf(url, accountOf(number), store)
  const say = (said: Said) => void process.send?.(said)
  process.on('message', (task: Task | 'stop') => {
    if (task === 'stop')
      void sender
        .close()
        .then(() => store.close())
        .then(() => process.disconnect())
    else
      burst(sender, task.first, task.count, task.name).then(
        () => say({ done: true }),
        (error: unknown) => say({ failed: String(error) }),
      )
  })
  await sender.ready().then(
    () => say({ ready: true }),
    (error: unknown) => say({ held: String(error) }),
  )
}

function heard(child: ChildProcess): Promise<Said> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`A process ended with ${code}.`))
    child.once('exit', ended)
    child.once('message', (said: Said) => {
      child.removeListener('exit', ended)
      resolve(said)
    })
  })
}

/** Rates of the rounds, or why there are none. */
async function twoProcesses(
  url: string,
  connectionString: string,
  options: Options,
): Promise<number[] | string> {
  const rates: number[] = []
  for (let round = 0; round < options.rounds; round++) {
    const number = 1_000 + round
    const { account, fromBlock } = await prepare(url, number)
    const children: ChildProcess[] = []
    try {
      for (let process_ = 0; process_ < 2; process_++) {
        const child = fork(fileURLToPath(import.meta.url), ['worker', url, String(number)], {
          env: { ...process.env, CONNECTION_STRING: connectionString },
        })
        children.push(child)
        const said = await heard(child)
        if ('held' in said) return `the second process cannot share the lane: ${said.held.split('\n')[0]}`
      }
      const half = Math.floor(options.transactions / 2)
      const begun = performance.now()
      const said = await Promise.all(
        children.map((child, index) => {
          const answer = heard(child)
          child.send({ name: `${number}`, first: 1 + index * half, count: half } satisfies Task)
          return answer
        }),
      )
      const failed = said.find((one) => 'failed' in one)
      if (failed) throw new Error(failed.failed)
      rates.push(Math.round((half * 2 * 1_000) / (performance.now() - begun)))
      await checkChain(url, account, fromBlock, half * 2)
    } finally {
      for (const child of children) if (child.connected) child.send('stop')
      await Promise.all(children.map((child) => new Promise((resolve) => child.once('exit', resolve))))
    }
  }
  return rates
}

// ---------------------------------------------------------------------------------------------------------------

async function main(options: Options): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'txlane-bench-'))
  await using server = await startPostgres()
  const node = await startAnvil(findAnvil(undefined), ['--block-time', '0.2', '--gas-limit', '300000000'])
  try {
    const bursts = await takeTurns(node.url, server.connectionString, folder, options)
    const two = await twoProcesses(node.url, server.connectionString, options)
    const measure = (of: (one: Burst) => number) =>
      Object.fromEntries(KINDS.map((kind) => [kind, spread(bursts[kind].map(of))])) as Record<Kind, Spread>
    const measured = measure(({ perSecond }) => Math.round(perSecond))
    const cpu = measure(({ cpuMs }) => Number(cpuMs.toFixed(3)))
    const ofMemory = (kind: Kind) => Number((measured[kind].median / measured.memory.median).toFixed(3))
    const result = {
      ...options,
      acceptedPerSecond: measured,
      cpuMsEach: cpu,
      ofMemory: Object.fromEntries(KINDS.map((kind) => [kind, ofMemory(kind)])),
      postgresTwoProcesses: typeof two === 'string' ? { missing: two } : spread(two),
      reached: {
        sqliteNormal: ofMemory('sqliteNormal') >= NORMAL_TO_REACH,
        postgres: measured.postgres.median >= POSTGRES_TO_REACH,
        postgresTwoProcesses: typeof two === 'string' ? undefined : spread(two).median >= POSTGRES_TO_REACH,
      },
    }
    process.stdout.write(`${JSON.stringify(result, undefined, options.json ? undefined : 2)}\n`)
  } finally {
    await node.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const [job, url = '', number] = process.argv.slice(2)
if (job === 'worker') await worker(url, process.env.CONNECTION_STRING ?? '', Number(number))
else await main(optionsOf(process.argv.slice(2)))
