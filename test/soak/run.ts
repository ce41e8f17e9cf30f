import { createClient, defineChain, http } from 'viem'
import { createSender, memoryStore, type Sender } from '../../src/index.js'
import { systemClock } from '../../src/platform/clock.js'
import { createAccounts } from '../../tools/devnet/accounts.js'
import type { Verdict } from '../demo/check.js'
import { createPlainRpc } from '../demo/plainRpc.js'
import { within } from '../demo/within.js'
import { pause } from '../support/pause.js'
import { type ChainProcess, startChain } from './chain.js'
import { type Flatness, flatness } from './flat.js'
import { createLoad, type Load } from './load.js'
import type { SoakOptions } from './options.js'
import { type Sample, takeSample } from './sampler.js'

export type SoakResult = {
  readonly ok: boolean
  readonly seed: number
  readonly seconds: number
  readonly sent: number
  /** Not sent, because too many were open already. */
  readonly skipped: number
  readonly verdicts: readonly Verdict[]
  /** False if the time was over before the last transaction had ended. */
  readonly settled: boolean
  /** Undefined for a run that is too short to judge. */
  readonly flatness: readonly Flatness[] | undefined
  readonly samples: readonly Sample[]
  /** The sample after everything was closed. */
  readonly closed: Sample
  readonly chain: { readonly gatewayBytes: number; readonly nodeBytes: number | undefined }
  readonly faults: Readonly<Record<string, number>>
  readonly events: Readonly<Record<string, number>>
  readonly error: string | undefined
}

const KEYS = 3
// Small, so that the history is full, and its size constant, before the second sixth of the run.
const HISTORY_MAX = 1_000
/** In the first half minute history and caches fill up. The second sixth must come after it. */
const JUDGED_FROM_MS = 180_000
const SAMPLES = 120
const SAMPLE_MS_MIN = 500
const SETTLE_MS = 180_000
/**
 * Seconds of load that may be open at once, twice the time to finality. If the node falls behind, the number
 * of open transactions, and with it the heap, would otherwise grow with its delay.
 */
const OPEN_MAX_SECONDS = 20

/** `say` gets the progress of the run; `stop` ends the load early. */
export async function runSoak(
  options: SoakOptions,
  say: (line: string) => void,
  stop: AbortSignal,
): Promise<SoakResult> {
  const chain = await startChain(options.seed)
  try {
    return await runOn(chain, options, say, stop)
  } finally {
    await chain.stop()
  }
}

async function runOn(
  chain: ChainProcess,
  options: SoakOptions,
  say: (line: string) => void,
  stop: AbortSignal,
): Promise<SoakResult> {
  const senders = createSenders(chain.url)
  const loads = await createLoads(chain, senders, options)
  await chain.ask({ type: 'storm' }, 'done')
  const startedAtMs = Date.now()
  const samples = await sendSteadily(chain, loads, options, say, stop)
  const seconds = (Date.now() - startedAtMs) / 1_000

  say('settling')
  await chain.ask({ type: 'calm' }, 'done')
  const end = await within(systemClock, SETTLE_MS, settle(senders, loads))
  await Promise.all(senders.map((sender) => sender.close()))
  say('checking the blocks')
  const { verdicts, faults } = await chain.ask(
    { type: 'check', lanes: loads.map((load) => load.run()) },
    'checked',
  )
  const { gatewayBytes, nodeBytes } = await chain.ask({ type: 'usage' }, 'usage')
  const judged = options.minutes * 60_000 >= JUDGED_FROM_MS ? flatness(samples) : undefined
  const settled = end !== 'late'
  return {
    ok: settled && verdicts.every(({ ok }) => ok) && (judged ?? []).every(({ flat }) => flat),
    seed: options.seed,
    seconds,
    sent: sum(loads, (load) => load.sent),
    skipped: sum(loads, (load) => load.skipped),
    verdicts,
    settled,
    flatness: judged,
    samples,
    closed: takeSample(
      startedAtMs,
      sum(loads, (load) => load.open),
    ),
    chain: { gatewayBytes, nodeBytes },
    faults,
    events: eventsOf(loads),
    error: loads.find(({ errors }) => errors !== undefined)?.errors,
  }
}

function createSenders(url: string): readonly Sender[] {
  const chain = defineChain({
    id: 31_337,
    name: 'soak',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    blockTime: 2_000,
  })
  const transport = http(url, { retryCount: 0 })
  return createAccounts(KEYS).map((account) => {
    const client = createClient({ account, chain, transport })
    // A store for each sender, because the ids of their transactions are the same.
    const store = memoryStore({ historyMax: HISTORY_MAX })
    return createSender({ client, store, lossDepth: 'child' }) as unknown as Sender
  })
}

function createLoads(
  chain: ChainProcess,
  senders: readonly Sender[],
  { minutes, rate, seed }: SoakOptions,
): Promise<readonly Load[]> {
  const rpc = createPlainRpc(chain.url)
  return Promise.all(
    senders.map((sender, lane) =>
      createLoad({
        lane,
        sender,
        rpc,
        count: Math.ceil(minutes * 60 * rate),
        seed: seed * KEYS + lane,
        openMax: Math.ceil(rate * OPEN_MAX_SECONDS),
        report: (report) => chain.report(report),
      }),
    ),
  )
}

/** Sends until the time is over, and samples the process at even intervals. */
async function sendSteadily(
  chain: ChainProcess,
  loads: readonly Load[],
  { minutes, rate }: SoakOptions,
  say: (line: string) => void,
  stop: AbortSignal,
): Promise<readonly Sample[]> {
  const totalMs = minutes * 60_000
  const everyMs = Math.max(SAMPLE_MS_MIN, totalMs / SAMPLES)
  const startedAtMs = Date.now()
  const samples: Sample[] = []
  let [ticks, sampledAtMs] = [0, startedAtMs]
  while (!stop.aborted) {
    const now = Date.now()
    if (now - startedAtMs >= totalMs) break
    if (now - sampledAtMs >= everyMs) {
      sampledAtMs = now
      samples.push(
        takeSample(
          startedAtMs,
          sum(loads, (load) => load.open),
        ),
      )
      const { gatewayBytes } = await chain.ask({ type: 'usage' }, 'usage')
      say(lineOf(samples.at(-1)!, loads, gatewayBytes))
    }
    for (; ticks * (1_000 / rate) <= now - startedAtMs; ticks++) for (const load of loads) load.send()
    await pause(1_000 / rate / 2)
  }
  return samples
}

async function settle(senders: readonly Sender[], loads: readonly Load[]): Promise<void> {
  await Promise.all(senders.map((sender) => sender.drain({ signal: AbortSignal.timeout(SETTLE_MS) })))
  await Promise.all(loads.map((load) => load.settled()))
}

function lineOf(sample: Sample, loads: readonly Load[], chainBytes: number): string {
  const { atMs, heapBytes, rssBytes, timers, sockets, handles, open } = sample
  const sent = sum(loads, (load) => load.sent)
  const held = `heap ${mebibytes(heapBytes)} MiB, rss ${mebibytes(rssBytes)} MiB, timers ${timers}, sockets ${sockets}, other handles ${handles}`
  return `${Math.round(atMs / 1_000)} s: sent ${sent}, open ${open}; ${held}; chain ${mebibytes(chainBytes)} MiB`
}

export function mebibytes(bytes: number): string {
  return (bytes / 1_024 / 1_024).toFixed(1)
}

function sum(loads: readonly Load[], of: (load: Load) => number): number {
  return loads.reduce((total, load) => total + of(load), 0)
}

function eventsOf(loads: readonly Load[]): Record<string, number> {
  const events: Record<string, number> = {}
  for (const load of loads)
    for (const [event, times] of load.events) events[event] = (events[event] ?? 0) + times
  return events
}
