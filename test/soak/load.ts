import type { Sender } from '../../src/index.js'
import { systemClock } from '../../src/platform/clock.js'
import { collectReports, runBurst } from '../demo/burst.js'
import type { PlainRpc } from '../demo/plainRpc.js'
import { createRecord } from '../demo/records.js'
import { deployLedger, type Ledger, readGasLimits } from '../demo/setup.js'
import { readStart, type StartPoint } from '../demo/walk.js'
import { watchSender } from '../demo/watch.js'
import { type AskedItem, createWorkload, type GasLimits } from '../demo/workload.js'
import type { LaneRun, Order } from './protocol.js'

type Report = Order & { type: 'report' }

/** One key that sends at a steady rate. */
export type Load = {
  /** Sends the next item, unless so many are open that another would only lengthen the queue. */
  send(): void
  readonly sent: number
  readonly open: number
  readonly skipped: number
  /** The number of emissions of each event. */
  readonly events: ReadonlyMap<string, number>
  readonly errors: string | undefined
  /** Resolves when every sent item has ended and is reported. */
  settled(): Promise<void>
  run(): LaneRun
}

export type LoadOptions = {
  readonly lane: number
  readonly sender: Sender
  readonly rpc: PlainRpc
  readonly count: number
  readonly seed: number
  readonly openMax: number
  readonly report: (report: Report) => void
}

/** Deploys the key's contract, and is then ready to send. */
export async function createLoad(options: LoadOptions): Promise<Load> {
  const { sender, rpc, count, seed } = options
  const start = await readStart(rpc, sender.address)
  const ledger = await deployLedger(sender)
  const gas = await readGasLimits(rpc, sender.address, ledger.address)
  return startLoad(options, {
    start,
    ledger,
    gas,
    asked: createWorkload({ count, seed, ledger: ledger.address, gas }),
  })
}

type Setting = {
  readonly start: StartPoint
  readonly ledger: Ledger
  readonly gas: GasLimits
  readonly asked: readonly AskedItem[]
}

function startLoad(options: LoadOptions, setting: Setting): Load {
  const { lane, sender, count, seed, openMax, report } = options
  const { start, ledger, gas, asked } = setting
  const { notified } = watchSender(sender, new Map(), systemClock)
  const following = new Set<Promise<void>>()
  let [sent, skipped] = [0, 0]

  async function follow(item: AskedItem): Promise<void> {
    const record = createRecord(item)
    await runBurst(sender, [record], systemClock)
    // A sealed block may be replaced; once finalized the report is permanent.
    await record.tx?.wait('finalized').catch(() => undefined)
    const [reported] = await collectReports(sender, [record])
    if (reported) report({ type: 'report', lane, reported })
  }

  return {
    send() {
      const item = asked[sent]
      if (item === undefined) return
      if (following.size >= openMax) {
        skipped += 1
        return
      }
      sent += 1
      const one = follow(item).finally(() => following.delete(one))
      following.add(one)
    },
    get sent() {
      return sent
    },
    get open() {
      return following.size
    },
    get skipped() {
      return skipped
    },
    events: notified.counts,
    get errors() {
      return notified.firstError
    },
    async settled() {
      while (following.size > 0) await Promise.all(following)
    },
    run() {
      const noops = [...notified.noops].filter((nonce) => !notified.foreign.has(nonce))
      return { account: sender.address, start, ledger, gas, seed, count, sent, noops }
    },
  }
}
