import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type Address, numberToHex } from 'viem'
import { counterLaneAddress } from '../../../src/allocator/countRecords.js'
import { storageNonce } from '../../../src/index.js'
import { startDevnet } from '../../../tools/devnet/index.js'
import { openLeases } from '../../crash/lease.js'
import { createPlainRpc } from '../../demo/plainRpc.js'
import { between, deriveRandom } from '../../sim/random.js'
import { bundleChild } from '../../support/bundleChild.js'
import { pause } from '../../support/pause.js'
import type { Place } from '../place.js'
import { type CounterOrder, type CounterReport, idsOf, NUMBERED, NUMBERED_CODE } from './asks.js'

const CHILD = new URL('child.ts', import.meta.url)
const BLOCKS = { blockTimeMs: 300, flashblockMs: 150 }
const KILL_MS_MAX = 900
const STDERR_CHARACTERS = 4_000

export type CounterOptions = {
  /** Processes that assign nonces of the same contract at once. */
  readonly members: number
  /** How often each of them is killed. */
  readonly kills: number
  /** The payloads that each life commits. */
  readonly asks: number
  readonly seed: number
}

export type CounterResult = {
  readonly kills: number
  /** Nonces whose `commit` resolved. */
  readonly committed: number
  /** The nonce of the contract in the end. */
  readonly used: number
  /** Nonces that two payloads were committed for. */
  readonly assignedTwice: readonly number[]
  /** Ids whose `commit` resolved and that were not executed. */
  readonly lost: readonly number[]
  readonly executedTwice: readonly number[]
  /** Executions of all ids. */
  readonly executed: number
}

/** Kills the processes again and again, then compares the reported commits with the chain. */
export async function runCounter(options: CounterOptions, { store }: Place): Promise<CounterResult> {
  const { members, kills, asks, seed } = options
  await using bundle = await bundleChild(CHILD)
  await using leases = await openLeases(store)
  await using devnet = await startDevnet({ ...BLOCKS, seed, accounts: members })
  const rpc = createPlainRpc(devnet.url)
  await rpc.call('anvil_setCode', NUMBERED, NUMBERED_CODE)
  const committed: { readonly nonce: number; readonly id: number }[] = []
  const counter = counterLaneAddress(storageNonce({ address: NUMBERED, slot: 0n }).counter!)
  let killed = 0

  async function live(member: number, life: number): Promise<void> {
    const order: CounterOrder = {
      url: devnet.url,
      chainId: devnet.chain.id,
      blockTimeMs: BLOCKS.blockTimeMs,
      account: member,
      store,
      ids: idsOf(member, life),
      asks,
    }
    const random = deriveRandom(seed, `member ${member}, life ${life}`)
    const killAfterMs = life < kills ? between(random, 0, KILL_MS_MAX) : undefined
    let isOwner = false
    const wasKilled = await runLife(bundle.path, order, killAfterMs, (report) => {
      if (report.report === 'open') isOwner = true
      if (report.report === 'committed') committed.push(report)
    })
    if (!wasKilled) return
    killed++
    // As if the process had died long ago. A process that never had the counter must not expire another's lease.
    const own: Address[] = isOwner ? [counter, devnet.accounts[member]!.address] : []
    for (const address of own) await leases.runOut(address)
  }

  await Promise.all(
    Array.from({ length: members }, async (_, member) => {
      for (let life = 0; life <= kills; life++) await live(member, life)
    }),
  )
  const read = async (slot: number) =>
    Number(await rpc.call('eth_getStorageAt', NUMBERED, numberToHex(slot, { size: 32 }), 'latest'))
  const all = Array.from({ length: members }, (_, member) =>
    Array.from({ length: kills + 1 }, (_, life) => idsOf(member, life)),
  ).flat(2)
  const times = new Map<number, number>()
  for (const id of all) times.set(id, await read(id))
  const nonces = committed.map(({ nonce }) => nonce)
  return {
    kills: killed,
    committed: committed.length,
    used: await read(0),
    assignedTwice: nonces.filter((nonce, index) => nonces.indexOf(nonce) !== index),
    lost: committed.map(({ id }) => id).filter((id) => times.get(id) === 0),
    executedTwice: all.filter((id) => times.get(id)! > 1),
    executed: [...times.values()].reduce((sum, one) => sum + one, 0),
  }
}

/**
 * Runs the child until it ends, or kills it that long after it has the counter; or after twice the time if
 * another process has it. Resolves with true if it was killed.
 */
async function runLife(
  path: string,
  order: CounterOrder,
  killAfterMs: number | undefined,
  hear: (report: CounterReport) => void,
): Promise<boolean> {
  const child = spawn(process.execPath, [path], { stdio: ['pipe', 'pipe', 'pipe'] })
  let stderr = ''
  let isKilled = false
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(order))
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString()}`.slice(-STDERR_CHARACTERS)
  })
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const report = JSON.parse(line) as CounterReport
    hear(report)
    if (report.report !== 'open' || killAfterMs === undefined) return
    void pause(killAfterMs).then(() => {
      isKilled = child.exitCode === null && child.kill('SIGKILL')
    })
  })
  const [code] = await Promise.all([
    new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (ended) => resolve(ended))
    }),
    new Promise<void>((resolve) => lines.once('close', resolve)),
  ])
  if (!isKilled && code !== 0) throw new Error(`A life ended by itself with ${code}: ${stderr}`)
  return isKilled
}
