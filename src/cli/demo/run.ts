import type { Address } from 'viem'
import { type Clock, systemClock } from '../../clock.js'
import { createSender, type Sender } from '../../index.js'
import { collectReports, runBurst } from './burst.js'
import { checkRun } from './check.js'
import { faultRows } from './faultRows.js'
import type { DemoOptions } from './options.js'
import type { Progress } from './progress.js'
import { countStages, createRecord } from './records.js'
import { type DemoResult, failuresOf, measure, tellings } from './result.js'
import { deployLedger, readGasLimits } from './setup.js'
import { openTarget, type Target, type Traffic } from './target.js'
import { readStart, walkChain } from './walk.js'
import { watchSender } from './watch.js'
import { createWorkload } from './workload.js'

const BURST_MS = 300_000
const BURST_MS_PER_TRANSACTION = 50
const QUIET_MS = 30_000
const LOOK_MS = 50

/** How long a burst may take: then it is checked as it stands. */
export function burstTimeMs(count: number): number {
  return BURST_MS + BURST_MS_PER_TRANSACTION * count
}

/** One run from start to verdict. @throws Error when there is nothing to give a verdict on. */
export async function runDemo(options: DemoOptions, progress: Progress): Promise<DemoResult> {
  progress.say(options.target.kind === 'devnet' ? 'starting the devnet' : 'connecting')
  const target = await openTarget(options.target, options.seed)
  const sender = createSender({ client: target.client, ...target.senderOptions })
  try {
    return await runOn(target, sender as unknown as Sender, options, progress)
  } finally {
    await sender.close()
    await target.stop()
  }
}

async function runOn(
  target: Target,
  sender: Sender,
  options: DemoOptions,
  progress: Progress,
): Promise<DemoResult> {
  const clock = systemClock
  const { rpc } = target
  const account = sender.address
  const start = await readStart(rpc, account)
  progress.say(`deploying the contract from ${account} on ${target.name}`)
  const ledger = await deployLedger(sender)
  const gas = await readGasLimits(rpc, account, ledger.address)
  const asked = createWorkload({ count: options.count, seed: options.seed, ledger: ledger.address, gas })
  const records = asked.map(createRecord)
  const watch = watchSender(sender, new Map(records.map((record) => [record.id, record])))

  target.startFaults()
  const before = await trafficOf(target, sender)
  const startedAtMs = clock.now()
  progress.start(records.length, () => countStages(records))
  const inTime = await within(clock, burstTimeMs(records.length), runBurst(sender, records, clock))
  progress.stop()
  const timeMs = clock.now() - startedAtMs
  const after = await trafficOf(target, sender)

  progress.say('checking the blocks')
  await becomeQuiet(target, sender, clock)
  const reported = await collectReports(sender, records)
  const items = asked.map(({ item }) => item)
  const evidence = await walkChain({ rpc, account, start, ledger: ledger.address, items })
  const { told } = watch
  watch.off()
  const noops = new Set([...told.noops].filter((nonce) => !told.foreign.has(nonce)))
  const { problems, ...verdict } = checkRun({
    asked,
    reported,
    evidence,
    setup: new Set([ledger.hash]),
    noops,
  })
  return {
    ...verdict,
    ok: verdict.ok && inTime,
    ...measure(
      records,
      before && after && { requests: after.requests - before.requests, calls: after.calls - before.calls },
    ),
    timeMs,
    timedOut: !inTime,
    seed: options.seed,
    node: target.name,
    account,
    contract: ledger.address as Address,
    blocks: evidence.blocks,
    faults: {
      preset: options.target.kind === 'devnet' ? options.target.faults : 'none',
      struck: faultRows({ log: target.faultLog(), records, reported, told }),
    },
    ...tellings(told),
    failures: failuresOf(reported),
    problems,
  }
}

/** The node's own count where it tells, else the sender's. */
async function trafficOf(target: Target, sender: Sender): Promise<Traffic | undefined> {
  const counted = target.traffic()
  if (counted !== undefined) return counted
  const { endpoints } = await sender.snapshot()
  return endpoints.reduce(
    (sum, { requests, calls }) => ({ requests: sum.requests + requests, calls: sum.calls + calls }),
    { requests: 0, calls: 0 },
  )
}

/** Until the sender has seen the chain as it is without faults and has nothing left to repair, or the time is up. */
async function becomeQuiet(target: Target, sender: Sender, clock: Clock): Promise<void> {
  const sealed = await target.endFaults()
  const until = clock.now() + QUIET_MS
  while (sealed !== undefined && clock.now() < until) {
    const { head } = await sender.snapshot()
    if (head !== undefined && head.number >= sealed) break
    await new Promise<void>((resolve) => clock.setTimer(resolve, LOOK_MS))
  }
  // What does not end in time is seen by the check.
  await sender.drain({ signal: AbortSignal.timeout(QUIET_MS) }).catch(() => undefined)
}

/** Whether the work ended in time. Work that did not goes on; nothing waits for it. */
async function within(clock: Clock, timeMs: number, work: Promise<void>): Promise<boolean> {
  let cancel = () => {}
  const late = new Promise<boolean>((resolve) => {
    cancel = clock.setTimer(() => resolve(false), timeMs)
  })
  return Promise.race([work.then(() => true), late]).finally(cancel)
}
