import { createSender, type Sender } from '../../src/index.js'
import { systemClock } from '../../src/platform/clock.js'
import { recordTo } from '../../src/recorder/index.js'
import type { Progress } from '../../tools/cli/shared/progress.js'
import { pause } from '../support/pause.js'
import { collectReports, runBurst } from './burst.js'
import { checkRun } from './check.js'
import { faultRows } from './faultRows.js'
import type { DemoOptions } from './options.js'
import { countStages, createRecord, type ItemRecord, type StageCounts } from './records.js'
import { type DemoResult, failuresOf, measure, notifications } from './result.js'
import { deployLedger, readGasLimits } from './setup.js'
import { openTarget, type Target, type Traffic } from './target.js'
import { readStart, walkChain } from './walk.js'
import { watchSender } from './watch.js'
import { within } from './within.js'
import { createWorkload } from './workload.js'

const BURST_MS = 300_000
const BURST_MS_PER_TRANSACTION = 50
const DEPLOY_MS = 60_000
const QUIET_MS = 30_000
const LOOK_MS = 50

/** Time limit of a burst. After it the run is checked in its current state. */
export function burstTimeMs(count: number): number {
  return BURST_MS + BURST_MS_PER_TRANSACTION * count
}

/** One run from start to verdict. @throws Error if no verdict is possible. */
export async function runDemo(options: DemoOptions, progress: Progress): Promise<DemoResult> {
  const recorder = options.record === undefined ? undefined : recordTo(options.record)
  progress.say(options.target.kind === 'devnet' ? 'starting the devnet' : 'connecting')
  const target = await openTarget(options.target, options.seed)
  const sender = createSender({ client: target.client, ...target.senderOptions })
  recorder?.follow(sender)
  try {
    return await runOn(target, sender as unknown as Sender, options, progress)
  } finally {
    await sender.close()
    // Closed after the sender, because the sender's last events belong to the recording.
    await recorder?.close()
    await target.stop()
  }
}

async function runOn(
  target: Target,
  sender: Sender,
  options: DemoOptions,
  progress: Progress,
): Promise<DemoResult> {
  const start = await readStart(target.rpc, sender.address)
  progress.say(`deploying the contract from ${sender.address} on ${target.name}`)
  const ledger = await within(systemClock, DEPLOY_MS, deployLedger(sender))
  if (ledger === 'late') throw new Error(`the contract was not sealed within ${DEPLOY_MS / 1_000} s.`)
  const gas = await readGasLimits(target.rpc, sender.address, ledger.address)
  const { count, seed } = options
  const asked = createWorkload({ count, seed, ledger: ledger.address, gas })
  const records = asked.map(createRecord)
  const watch = watchSender(sender, new Map(records.map((record) => [record.id, record])), systemClock)
  target.startFaults()
  const burst = await timedBurst(target, sender, records, progress)

  progress.say('checking the blocks')
  await becomeQuiet(target, sender)
  const reported = await collectReports(sender, records)
  const evidence = await walkChain({
    rpc: target.rpc,
    account: sender.address,
    start,
    ledger: ledger.address,
    items: asked.map(({ item }) => item),
    waiting: await target.waiting(sender.address),
  })
  watch.off()
  const { notified } = watch
  const noops = new Set([...notified.noops].filter((nonce) => !notified.foreign.has(nonce)))
  const verdict = checkRun({ asked, reported, evidence, setup: new Set([ledger.hash]), noops })
  return {
    ...verdict,
    ok: verdict.ok && !burst.timedOut,
    ...measure(records, burst.traffic),
    timeMs: burst.timeMs,
    timedOut: burst.timedOut,
    seed,
    node: target.name,
    account: sender.address,
    contract: ledger.address,
    blocks: evidence.blocks,
    faults: {
      preset: options.target.kind === 'devnet' ? options.target.faults : 'none',
      struck: faultRows({ log: target.faultLog(), records, reported, notified }),
    },
    ...notifications(notified),
    failures: failuresOf(reported),
  }
}

async function timedBurst(
  target: Target,
  sender: Sender,
  records: readonly ItemRecord[],
  progress: Progress,
): Promise<{ timedOut: boolean; timeMs: number; traffic: Traffic }> {
  const before = await trafficOf(target, sender)
  const startedAtMs = systemClock.now()
  progress.start(records.length, () => shownOf(countStages(records), records.length))
  const ended = await within(systemClock, burstTimeMs(records.length), runBurst(sender, records, systemClock))
  progress.stop()
  const timeMs = systemClock.now() - startedAtMs
  const after = await trafficOf(target, sender)
  const traffic = { requests: after.requests - before.requests, calls: after.calls - before.calls }
  return { timedOut: ended === 'late', timeMs, traffic }
}

function shownOf({ sent, accepted, preconfirmed, sealed, failed }: StageCounts, total: number) {
  const stages = `sent ${sent}, accepted ${accepted}, preconfirmed ${preconfirmed}, sealed ${sealed}`
  return { done: sealed + failed, text: `${stages}${failed > 0 ? `, failed ${failed}` : ''} of ${total}` }
}

/** Counts of the node if it provides them, else of the sender. */
async function trafficOf(target: Target, sender: Sender): Promise<Traffic> {
  const counted = target.traffic()
  if (counted !== undefined) return counted
  const { endpoints } = await sender.snapshot()
  return endpoints.reduce(
    (sum, { requests, calls }) => ({ requests: sum.requests + requests, calls: sum.calls + calls }),
    { requests: 0, calls: 0 },
  )
}

/** Waits until the sender has seen the chain without faults and has no repair left, or until the timeout. */
async function becomeQuiet(target: Target, sender: Sender): Promise<void> {
  const sealed = await target.endFaults()
  const until = systemClock.now() + QUIET_MS
  while (sealed !== undefined && systemClock.now() < until) {
    const { head } = await sender.snapshot()
    if (head !== undefined && head.number >= sealed) break
    await pause(LOOK_MS)
  }
  // The check reports transactions that do not end in time.
  await sender.drain({ signal: AbortSignal.timeout(QUIET_MS) }).catch(() => undefined)
}
