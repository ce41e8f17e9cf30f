import type { Client } from 'viem'
import * as runtime from '../../../src/api/runtime.js'
import { createSenderIn } from '../../../src/api/sender/sender.js'
import { createShared, type Environment } from '../../../src/chain/environment.js'
import type { Item, Sender } from '../../../src/index.js'
import { type Clock, systemClock, systemRandom } from '../../../src/platform/clock.js'
import { createSimClient } from '../../sim/simClient.js'
import { createStubAccount } from '../../sim/stubAccount.js'
import { createVirtualClock, type VirtualClock } from '../../sim/virtualClock.js'
import { percentile } from '../../support/statistics.js'
import { type Flatness, flatnessOf, type Tolerance } from '../flat.js'
import { type KeptNow, keptStore, type StoreKind } from './kept.js'
import { CHAIN_ID, type StubNode, startStubNode } from './stubNode.js'

export type RetentionOptions = {
  readonly transactions: number
  readonly store: StoreKind
  /**
   * The number of ended transactions that are kept: few, so that a run creates and deletes many times as
   * many.
   */
  readonly endedMax: number
  /**
   * The number of samples of heap and rows, each after a full collection; 0 to measure only speed. @default
   * 36
   */
  readonly samples?: number
  /**
   * The minutes until a block is final, in virtual time, at 250 transactions a second. @default 400 ms, in
   * real time
   */
  readonly finalityMinutes?: number
}

type Sample = KeptNow & {
  readonly sent: number
  readonly atMs: number
  readonly heapBytes: number
  /** Transactions in sealed blocks that are not final. */
  readonly unfinal: number
}
type Measured = 'heapBytes' | 'fileBytes' | 'transactions' | 'hashes' | 'slots'

export type RetentionResult = Omit<RetentionOptions, 'samples'> & {
  readonly ok: boolean
  /** Fewer than requested if the run was stopped. */
  readonly sent: number
  readonly seconds: number
  readonly perSecond: number
  /** Of the sent transactions: executed once; not at all; more than once. */
  readonly once: number
  readonly lost: number
  readonly doubled: number
  readonly flatness: readonly Flatness<Measured>[]
  /** Heap for each transaction in a sealed block that is not final: the median of the compared samples. */
  readonly bytesEach: number
  /** The remaining data once all transactions had ended and were old. */
  readonly end: KeptNow
  readonly samples: readonly Sample[]
}

const ADDRESS = '0x00000000000000000000000000000000000000aa'
// Six for each of the compared sixths. A collection costs more than the transactions in between.
const SAMPLES = 36
/**
 * The number of open transactions, from journaling until final: waiting transactions need memory and rows,
 * too.
 */
const OPEN_MAX = 2_048
const AGED_EVERY = 1_000
/** In virtual time: a million transactions take 67 minutes. */
const BLOCK_TRANSACTIONS = 50
const STEP_MS = 50

/**
 * Wide enough for effects of the machine's speed: the number of open transactions differs between samples,
 * and a file keeps its largest size. Narrow enough for a leak: the end of a run has seen five times as many
 * transactions as its second sixth.
 */
const TOLERANCES: Readonly<Record<Measured, Tolerance>> = {
  heapBytes: { share: 0.1, plus: OPEN_MAX * 3_072 },
  fileBytes: { share: 0.5, plus: OPEN_MAX * 3_072 },
  transactions: { share: 0.25, plus: OPEN_MAX },
  hashes: { share: 0.25, plus: OPEN_MAX },
  slots: { share: 0.25, plus: OPEN_MAX },
}

/**
 * Drives one lane through this many transactions, or until it is stopped, and samples the data kept about
 * them.
 */
export async function runRetention(
  options: RetentionOptions,
  say: (line: string) => void,
  stop: AbortSignal,
): Promise<RetentionResult> {
  const { finalityMinutes } = options
  const virtual = finalityMinutes === undefined ? undefined : createVirtualClock()
  const clock = virtual ?? systemClock
  const finalityMs = finalityMinutes === undefined ? undefined : finalityMinutes * 60_000
  const node = startStubNode(clock, {
    transactionsMax: options.transactions,
    finalityMs,
    blockTransactions: virtual && BLOCK_TRANSACTIONS,
  })
  const kept = keptStore(options.store, options.endedMax)
  const sender = openSender(node, kept.store, clock)
  const startedAtMs = Date.now()
  const beganMs = clock.now()
  const samples: Sample[] = []
  const stopTime = virtual ? runTime(virtual) : async () => {}
  await sender.ready()
  const emptyBytes = heapBytes()
  let sent = 0
  const looks = options.samples ?? SAMPLES
  const every = looks === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(options.transactions / looks))
  // Open transactions have rows, so their number must stay bounded.
  const until = options.store === 'sqlite' && !virtual ? 'finalized' : 'accepted'
  for await (const result of sender.sendMany(items(options.transactions, stop), { until })) {
    if (!result.ok) throw result.error
    if (++sent % AGED_EVERY === 0) kept.age()
    if (sent % every !== 0) continue
    const { unfinal } = node
    samples.push({ sent, atMs: clock.now() - beganMs, heapBytes: heapBytes(), unfinal, ...kept.look() })
    say(lineOf(samples.at(-1)!))
  }
  await sender.drain()
  const seconds = (Date.now() - startedAtMs) / 1_000
  const end = kept.look()
  await sender.close()
  await stopTime()
  node.stop()
  await kept.dispose()
  const times = (wanted: (times: number) => boolean) => countTimes(node, sent, wanted)
  const [once, lost] = [times((count) => count === 1), times((count) => count === 0)]
  const doubled = sent - once - lost
  // Before, the number of transactions that are not final still grows.
  const steady = samples.filter(({ atMs }) => atMs > (finalityMs ?? 0))
  const flatness = flatnessOf<Measured>(steady, TOLERANCES)
  const each = steady.map((one) => (one.heapBytes - emptyBytes) / Math.max(1, one.unfinal))
  return {
    ...options,
    sent,
    ok: once === sent && flatness.every(({ flat }) => flat),
    seconds,
    perSecond: Math.round(sent / seconds),
    once,
    lost,
    doubled,
    flatness,
    bytesEach: Math.round(percentile(each, 0.5) ?? 0),
    end,
    samples,
  }
}

/** Lets virtual time pass until it is stopped. */
function runTime(clock: VirtualClock): () => Promise<void> {
  let isOver = false
  const passing = (async () => {
    while (!isOver) await clock.advance(STEP_MS)
  })()
  return () => {
    isOver = true
    return passing
  }
}

function openSender(node: StubNode, store: ReturnType<typeof keptStore>['store'], clock: Clock): Sender {
  const account = createStubAccount(ADDRESS)
  const environment: Environment = {
    clock,
    random: systemRandom,
    portsOf: () => [{ port: node.port, role: 'both' }],
    runtime: () => runtime,
    shared: createShared(),
  }
  const client = createSimClient({ port: node.port, chainId: CHAIN_ID, account }) as unknown as Client
  const limits = { queueMax: OPEN_MAX, window: 1_024 }
  return createSenderIn(environment, { client: client as never, store, lossDepth: 'child', limits })
}

function* items(count: number, stop: AbortSignal): Iterable<Item> {
  for (let number = 1; number <= count && !stop.aborted; number++) {
    yield { id: `payout-${number}`, request: { to: ADDRESS, value: BigInt(number), gas: 21_000n } }
  }
}

function countTimes(node: StubNode, count: number, wanted: (times: number) => boolean): number {
  let found = 0
  for (let number = 1; number <= count; number++) if (wanted(node.executed(number))) found++
  return found
}

/** @throws Error without `--expose-gc`, because a heap with garbage in it proves nothing */
function heapBytes(): number {
  const collect = globalThis.gc
  if (collect === undefined) throw new Error('run node with --expose-gc.')
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const mebibytes = (bytes: number) => (bytes / 1_024 / 1_024).toFixed(1)

function lineOf({
  sent,
  atMs,
  heapBytes: heap,
  unfinal,
  fileBytes,
  transactions,
  hashes,
  slots,
}: Sample): string {
  const rows = `rows: transactions ${transactions}, hashes ${hashes}, slots ${slots}`
  return `${Math.round(atMs / 1_000)} s: sent ${sent}, not final ${unfinal}; heap ${mebibytes(heap)} MiB, file ${mebibytes(fileBytes)} MiB; ${rows}`
}

export function renderRetention(result: RetentionResult): string {
  const { sent, store, seconds, perSecond, once, lost, doubled, flatness } = result
  const shown = (measured: Measured, value: number) =>
    measured.endsWith('Bytes') ? `${mebibytes(value)} MiB` : value.toFixed(0)
  return [
    `${sent} transactions through one lane, ${store} store: ${seconds.toFixed(0)} s, ${perSecond} a second`,
    `once ${once}, lost ${lost}, doubled ${doubled}`,
    ...flatness.map(
      ({ measured, early, late, most, flat }) =>
        `${measured}: median ${shown(measured, early)} in the second sixth, ${shown(measured, late)} in the last, at most ${shown(measured, most)}: ${flat ? 'flat' : 'GROWS'}`,
    ),
    `heap for each that is in a block and not final: ${result.bytesEach} bytes`,
    result.ok ? 'held' : 'FAILED',
    '',
  ].join('\n')
}
