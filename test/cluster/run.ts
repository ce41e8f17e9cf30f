import { systemClock } from '../../src/platform/clock.js'
import { within } from '../demo/within.js'
import { bundleChild } from '../support/bundleChild.js'
import { readChain } from '../sweep/chain.js'
import { check, type Verdict } from '../sweep/check.js'
import type { Place } from '../sweep/place.js'
import type { Ask, ProcessOrder, Report } from './asks.js'
import { strike } from './faults.js'
import { createLanes, type Lanes } from './lanes.js'
import { createMember, type Member } from './member.js'
import { type Node, startNode } from './node.js'
import type { LanesOptions } from './options.js'
import { type Fault, planAsks, planFaults, type Wanted } from './plan.js'
import { type ClusterResult, type Rate, rateOf, resultOf } from './result.js'

const CHILD = new URL('child/main.ts', import.meta.url)

/** In a run with faults, this share of the transactions is sent before the first fault. */
const CALM_SHARE = 0.3
/** In a run with faults, this share of the ids is requested by two processes at once. */
const TWICE = 0.05
/** If no ask at all was answered for this long, even on a busy machine, none will be. */
const SILENT_MS = 120_000
const TAKEN_OVER_MS = 40_000
const CLOSED_MS = 60_000

type Struck = Record<Fault['kind'], number>
const NONE_STRUCK: Readonly<Struck> = {
  kill: 0,
  stop: 0,
  'stop in a request': 0,
  close: 0,
  'restart the database': 0,
}

export type Say = (line: string) => void

/** Runs the processes, inflicts the faults, and compares all asks with the chain. */
export async function runCluster(
  options: LanesOptions & { readonly twice?: number },
  place: Place,
  say: Say,
): Promise<ClusterResult> {
  const { processes, keys, transactions, seed } = options
  const startedAtMs = systemClock.wallNow()
  await using bundle = await bundleChild(CHILD)
  await using node = await startNode(options.node, keys, seed)
  const startBlock = Number(await node.rpc.call('eth_blockNumber'))
  const lanes = createLanes()
  const reported: Report[] = []
  const acceptedAtMs = new Map<string, number>()
  const failures: string[] = []
  let answers = 0

  const faults = planFaults({ ...options, accounts: keys, database: place.restart !== undefined })
  const plain = faults.length === 0
  const twice = options.twice ?? (plain ? 0 : TWICE)
  const wanted = planAsks({ transactions, processes, accounts: keys, seed, plain, twice })
  const asks = wanted.map(({ ask }) => ask)
  const order: ProcessOrder = {
    url: node.url,
    chainId: node.chainId,
    blockTimeMs: node.blockTimeMs,
    accounts: keys,
    store: place.store,
  }
  const members = Array.from({ length: processes }, (_, number) =>
    createMember({ number, path: bundle.path, order, reported: hear, failed: (why) => failures.push(why) }),
  )

  function hear(report: Report, { number }: Member): void {
    reported.push(report)
    if (report.report === 'answered') answers++
    if (report.report === 'accepted' && !acceptedAtMs.has(report.id)) acceptedAtMs.set(report.id, report.atMs)
    if (
      report.report === 'holds' ||
      report.report === 'sends' ||
      report.report === 'gives' ||
      report.report === 'loses'
    )
      lanes.hear(report, number)
  }

  async function answered(what: string): Promise<void> {
    const all = Promise.all(members.map((member) => member.answered()))
    for (let before = -1; before !== answers; ) {
      before = answers
      if ((await within(systemClock, SILENT_MS, all)) !== 'late') return
    }
    for (const { number, open, state } of members) {
      if (open.size === 0) continue
      const failure = `${what}: process ${number}, ${state}, had no answer for ${idsOf([...open.values()])}`
      failures.push(failure)
      say(failure)
    }
  }

  const timed = async (work: readonly Wanted[], run: () => Promise<void>): Promise<Rate> => {
    const sinceMs = systemClock.wallNow()
    await run()
    return rateOf(
      work.map(({ ask }) => acceptedAtMs.get(ask.id)),
      sinceMs,
    )
  }

  await Promise.all(members.map((member) => member.start()))
  const calm = wanted.slice(0, faults.length === 0 ? wanted.length : Math.floor(wanted.length * CALM_SHARE))
  let calmRate: Rate | undefined
  let struck = NONE_STRUCK
  const rate = await timed(wanted, async () => {
    calmRate = await timed(calm, async () => {
      ask(members, calm)
      await answered('without faults')
    })
    say(`${calm.length} transactions without faults: ${calmRate.perSecond} accepted a second`)
    struck = await suffer(wanted.slice(calm.length), faults, { members, lanes, restart: place.restart, say })
    await answered('in the end')
  })
  await Promise.all(members.map((member) => within(systemClock, CLOSED_MS, member.close())))
  for (const { number, state } of members)
    if (state !== 'gone') failures.push(`process ${number} did not close`)
  const verdicts = await verdictsOf(node, startBlock, asks, reported)
  // Kills the processes that did not end; the run has failed already.
  await Promise.all(members.map((member) => member.state === 'gone' || member.kill()))
  return resultOf({
    options,
    seconds: (systemClock.wallNow() - startedAtMs) / 1_000,
    rate,
    calmRate: calmRate as Rate,
    struck,
    lanes,
    lives: members.reduce((sum, { lives }) => sum + lives, 0),
    reported,
    verdicts,
    failures,
  })
}

/** The work is sent in parts: with each fault, half of its part comes before and half after it. */
async function suffer(
  work: readonly Wanted[],
  faults: readonly Fault[],
  parts: {
    readonly members: readonly Member[]
    readonly lanes: Lanes
    readonly restart: Place['restart']
    readonly say: Say
  },
): Promise<Struck> {
  const { members, lanes, restart, say } = parts
  const counts = { ...NONE_STRUCK }
  const size = Math.ceil(work.length / (2 * faults.length || 1))
  const shares = Array.from({ length: 2 * faults.length }, (_, index) =>
    work.slice(index * size, (index + 1) * size),
  )
  const back: Promise<void>[] = []
  for (const [index, fault] of faults.entries()) {
    ask(members, shares[2 * index] ?? [])
    // The process needs a request in which it can stop.
    if (fault.kind === 'stop in a request') ask(members, shares[2 * index + 1] ?? [])
    const struck = await strike(fault, { members, lanes, restart })
    if (struck !== undefined) {
      back.push(struck.back)
      counts[fault.kind]++
      say(`${index + 1} of ${faults.length}: ${fault.kind} of ${struck.what}`)
    } else say(`${index + 1} of ${faults.length}: ${fault.kind}: skipped, because no process could be struck`)
    if (fault.kind !== 'stop in a request') ask(members, shares[2 * index + 1] ?? [])
    if (isLast(index, faults) || fault.alone || !someRun(members)) {
      if ((await within(systemClock, TAKEN_OVER_MS, lanes.takenOver())) === 'late')
        say('a lane was not taken over: no process had anything to send there')
      await struck?.back
    }
  }
  await Promise.all(back)
  return counts
}

function ask(members: readonly Member[], some: readonly Wanted[]): void {
  for (const member of members) {
    const own = some.filter((one) => one.processes.includes(member.number)).map((one) => one.ask)
    if (own.length > 0) member.ask(own)
  }
}

const isLast = (index: number, faults: readonly Fault[]) => index === faults.length - 1

/** At least two, so that one is left when the next one is struck. */
const someRun = (members: readonly Member[]) => members.filter(({ state }) => state === 'running').length > 1

function idsOf(asks: readonly Ask[]): string {
  const first = asks.slice(0, 5).map(({ id, account }) => `${id} (lane ${account})`)
  return `${asks.length}: ${first.join(', ')}${asks.length > first.length ? ' …' : ''}`
}

async function verdictsOf(
  node: Node,
  startBlock: number,
  asks: readonly Ask[],
  reported: readonly Report[],
): Promise<readonly Verdict[]> {
  const { rpc, accounts } = node
  const waiting = await node.waiting()
  const facts = await readChain({ rpc, accounts, after: startBlock, waiting })
  return facts.map((chain, index) =>
    check({
      account: accounts[index]!,
      asks: asks.filter(({ account }) => account === index),
      reported,
      chain,
    }),
  )
}
