import { readdirSync, readFileSync } from 'node:fs'
import { startDevnet } from '../../tools/devnet/index.js'
import { checkRun, type ReportedItem, type Verdict } from '../demo/check.js'
import { createPlainRpc } from '../demo/plainRpc.js'
import { walkChain } from '../demo/walk.js'
import { createWorkload } from '../demo/workload.js'
import { shortTags } from '../support/shortTags.js'
import type { Answer, LaneRun, Order } from './protocol.js'

// Runs as a child process, because the measured memory must not include the chain and the data of the check.
// The sender reads only a few blocks back, and a long history of states takes gigabytes after thousands of
// new accounts.
const HISTORY_BLOCKS = 8

const devnet = await startDevnet({
  seed: Number(process.argv[2]),
  historyBlocks: HISTORY_BLOCKS,
  ...shortTags(2_000),
})
const reported: ReportedItem[][] = []
let faults: Record<string, number> = {}

/** The log of faults is short, so its entries are counted before they are dropped. */
let counted = 0
function countFaults(): void {
  const entries = devnet.faults.log()
  const strikes = new Map(entries.map(({ strike, fault }) => [strike, fault]))
  for (const [strike, fault] of strikes) {
    if (strike <= counted) continue
    faults = { ...faults, [fault]: (faults[fault] ?? 0) + 1 }
  }
  counted = entries.at(-1)?.strike ?? counted
}

async function obey(order: Exclude<Order, { type: 'report' }>): Promise<Answer> {
  switch (order.type) {
    case 'storm':
      devnet.faults.preset('storm')
      return { type: 'done' }
    case 'calm':
      devnet.faults.clear()
      await devnet.seal()
      return { type: 'done' }
    case 'usage':
      countFaults()
      return { type: 'usage', gatewayBytes: process.memoryUsage.rss(), nodeBytes: nodeBytes(devnet.pid) }
    case 'check': {
      countFaults()
      const verdicts: Verdict[] = []
      for (const [index, lane] of order.lanes.entries())
        verdicts.push(await check(lane, reported[index] ?? []))
      return { type: 'checked', verdicts, faults }
    }
    default:
      return order satisfies never
  }
}

async function check(lane: LaneRun, said: readonly ReportedItem[]): Promise<Verdict> {
  const { account, start, count, seed, gas, sent } = lane
  const ledger = lane.ledger.address
  const asked = createWorkload({ count, seed, ledger, gas }).slice(0, sent)
  const own = (await devnet.pool()).filter(({ from }) => from.toLowerCase() === account.toLowerCase())
  const evidence = await walkChain({
    rpc: createPlainRpc(devnet.url),
    account,
    start,
    ledger,
    items: asked.map(({ item }) => item),
    waiting: own.map(({ nonce }) => nonce),
  })
  const setup = new Set([lane.ledger.hash])
  return checkRun({ asked, reported: said, evidence, setup, noops: new Set(lane.noops) })
}

/** Resident memory of anvil, the child of the watchdog shell. Available only on Linux. */
function nodeBytes(watchdog: number | undefined): number | undefined {
  try {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      if (!status.startsWith('Name:\tanvil') || !status.includes(`PPid:\t${watchdog}\n`)) continue
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1_024
    }
  } catch {
    // The process ended meanwhile, or the system has no /proc.
  }
  return undefined
}

let turn: Promise<unknown> = Promise.resolve()
process.on('message', (order: Order) => {
  if (order.type === 'report') {
    reported[order.lane] ??= []
    reported[order.lane]?.push(order.reported)
    return
  }
  turn = turn
    .then(() => obey(order))
    .catch((error: unknown): Answer => ({ type: 'failed', why: String(error) }))
    .then((answer) => process.send?.(answer))
})
// The sender's process has ended in some way, so anvil ends with this process.
process.once('disconnect', () => process.exit())
process.send?.({ type: 'ready', url: devnet.url } satisfies Answer)
