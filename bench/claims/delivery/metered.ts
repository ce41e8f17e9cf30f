import { type Hex, hexToNumber } from 'viem'
import { type Counted, startNodeProxy } from '../../../test/support/nodeProxy.js'
import { pause } from '../../../test/support/pause.js'
import { atMost, type Outcome } from '../../claim.js'
import { txlaneGiven } from '../../subjects/txlane.js'
import { type Geth, paidAccount, startGeth } from '../../support/geth.js'
import { type Allowance, createMeter } from '../../support/meter.js'
import type { Fresh } from '../../support/node.js'
import { takeTurns } from '../../support/rounds.js'
import { sharedNowMs } from '../../support/sharedNow.js'
import { figuresOf, spreadOf } from '../../support/spread.js'
import { type SubjectProcesses, startSubjects } from '../../support/subjectProcesses.js'
import { type PartContext, scaled } from './part.js'

const COUNT = 200
/** More than four times the duration at the slowest allowance. */
const LIMIT_MS = 100_000
const LOOK_MS = 20
const SEND = 'eth_sendRawTransaction'
const BATCH_MAX = 100
/** An allowance so high that no request is refused. */
const UNMETERED: Allowance = { counts: 'calls', perSecond: 1e9 }
const ALLOWANCES: readonly Allowance[] = [
  ...[10, 25, 50, 100].map((perSecond) => ({ counts: 'calls', perSecond }) as const),
  { counts: 'requests', perSecond: 10 },
]

type Turn = {
  /** From the first call of the opening until the node had the last transaction. */
  readonly ms: number
  /** Raw transactions that the endpoint let through. */
  readonly sends: number
  /** Share of the requests that the endpoint refused. */
  readonly denied: number
  readonly counted: Counted
}
type World = { readonly node: Geth; readonly processes: SubjectProcesses; readonly count: number }

const nameOf = (allowance: Allowance) =>
  allowance === UNMETERED ? 'no limit' : `${allowance.perSecond} ${allowance.counts} a second`

/**
 * Bursts at endpoints with a rate limit. They should take the minimum time that the limit allows, with few
 * refusals.
 */
export async function metered(context: PartContext): Promise<Outcome> {
  const count = scaled(COUNT, context)
  await using node = await startGeth(context.geth)
  await using processes = await startSubjects([txlaneGiven])
  const { values, failures } = await takeTurns({
    subjects: [UNMETERED, ...ALLOWANCES].map((allowance) => ({ name: nameOf(allowance), allowance })),
    rounds: context.rounds,
    // The slowest turn takes half a minute.
    warmUps: 0,
    run: ({ name, allowance }, { round }) =>
      turn({ node, processes, count }, allowance, `metered ${name} ${round}`),
    show: ({ ms, sends, denied }) =>
      `${(ms / 1_000).toFixed(2)} s, ${sends} sends, ${(100 * denied).toFixed(1)} % of the requests refused`,
    say: context.say,
  })
  const of = (value: (turn: Turn) => number) =>
    [...values].map(([name, turns]) => [name, turns.map(value)] as const)
  const figures = [
    ...figuresOf(
      { measure: 'until the node has all, by what it allows', unit: 'seconds' },
      of(({ ms }) => ms / 1_000),
    ),
    ...figuresOf(
      { measure: 'raw transactions that it let through, by what it allows', unit: 'for each' },
      of(({ sends }) => sends / count),
    ),
    ...figuresOf(
      { measure: 'requests refused, by what it allows', unit: '%' },
      of(({ denied }) => 100 * denied),
    ),
  ]
  const median = (name: string, value: (turn: Turn) => number) =>
    spreadOf((values.get(name) ?? []).map(value))?.median
  const checks = ALLOWANCES.flatMap((allowance) => {
    const name = nameOf(allowance)
    const needed = median(nameOf(UNMETERED), ({ counted }) => neededOf(counted, allowance, count))
    const ms = median(name, (one) => one.ms)
    const least = needed === undefined ? undefined : (needed * 1_000) / allowance.perSecond
    return [
      atMost(
        `times what ${name} need`,
        ms === undefined || least === undefined ? undefined : ms / least,
        1.2,
      ),
      atMost(
        `raw transactions let through for each, ${name}`,
        median(name, ({ sends }) => sends / count),
        1.05,
      ),
      atMost(
        `% of the requests refused, ${name}`,
        median(name, ({ denied }) => 100 * denied),
        5,
      ),
    ]
  })
  return {
    figures,
    checks,
    notes: [
      `Metered: ${count} transfers, gas and fees given, from a sender's first call until the node had the last. The endpoint's bucket holds the allowance of one second, counts every call of a batch (or every request), and answers HTTP 429 to a request above it. Sends are the raw transactions that it let through; the sender learns about the limit from a refusal. The minimum is one call for each transfer (or one request for ${BATCH_MAX}), plus the reads of the same burst without a limit.`,
      ...failures,
    ],
  }
}

/**
 * Minimum number of calls or requests: one call per transaction or one request per full batch, plus the reads
 * of an unlimited burst.
 */
function neededOf(counted: Counted, { counts }: Allowance, count: number): number {
  if (counts === 'calls') return count + counted.calls - (counted.methods[SEND] ?? 0)
  return Math.ceil(count / BATCH_MAX) + counted.requests - counted.requestsWith(SEND)
}

async function turn({ node, processes, count }: World, allowance: Allowance, words: string): Promise<Turn> {
  const fresh = await paidAccount(node, words)
  const meter = createMeter(allowance)
  await using proxy = await startNodeProxy(node.url, { rule: meter.rule })
  const begunAtMs = sharedNowMs()
  try {
    const { privateKey } = fresh
    await processes.open(txlaneGiven, { url: proxy.url, privateKey, count, chain: node.chain })
    void processes.burst(txlaneGiven, { count }).catch(() => undefined)
    await pooled(node, fresh, count)
    const ms = sharedNowMs() - begunAtMs
    const counted = proxy.take()
    const { requests, denied, sends } = meter.seen
    return { ms, sends, denied: denied / requests, counted }
  } finally {
    await processes.close(txlaneGiven)
  }
}

/** Waits until the node has all transactions, mined or pooled. @throws Error on timeout */
async function pooled({ rpc }: Geth, { address }: Fresh, count: number): Promise<void> {
  const untilMs = sharedNowMs() + LIMIT_MS
  for (;;) {
    const has = hexToNumber((await rpc.call('eth_getTransactionCount', address, 'pending')) as Hex)
    if (has >= count) return
    if (sharedNowMs() > untilMs)
      throw new Error(`the node has ${has} of ${count} after ${LIMIT_MS / 1_000} s`)
    await pause(LOOK_MS)
  }
}
