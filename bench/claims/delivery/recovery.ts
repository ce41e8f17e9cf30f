import { type Hex, hexToNumber } from 'viem'
import type { Sender } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { createPlainRpc } from '../../../test/demo/plainRpc.js'
import { within } from '../../../test/demo/within.js'
import { startNodeProxy } from '../../../test/support/nodeProxy.js'
import { pause } from '../../../test/support/pause.js'
import { atMost, medianOf, type Outcome } from '../../claim.js'
import { openSender } from '../../subjects/txlane.js'
import { createFault, FAULTS, type Fault } from '../../support/fault.js'
import { type FlashChain, flashChainAt, startFlashChain } from '../../support/flashChain.js'
import { type Geth, paidAccount, startGeth } from '../../support/geth.js'
import { nextBlock } from '../../support/landing.js'
import { chainOf, freshAccount, givenTransfer } from '../../support/node.js'
import { takeTurns } from '../../support/rounds.js'
import { sharedNowMs } from '../../support/sharedNow.js'
import { figuresOf, percentileOf } from '../../support/spread.js'
import { type PartContext, scaled, together } from './part.js'

const COUNT = 100
const SAMPLES = 5
const LIMIT_MS = 30_000
const LOOK_MS = 5
const PAUSE_MS_MAX = 400
const BURSTS_MAX = 5
const ROUND_TRIP_MS = 100
const FLASH = 'from the loss until all are pre-confirmed, flashblocks every 200 ms'
const POOL = 'from the loss until the node has all, its pending count shows them'
const FIRST = 'the same in the first burst at an endpoint'
const SUBJECTS = FAULTS.map((fault) => ({ name: fault, fault }))

/**
 * Injects a fault into one request of a burst, and measures the time until its transactions are visible
 * again.
 */
export async function recovery(context: PartContext): Promise<Outcome> {
  return together([await onFlashblocks(context), await onPool(context)])
}

async function onFlashblocks(context: PartContext): Promise<Outcome> {
  const count = scaled(COUNT, context)
  await using chain = await startFlashChain()
  let samples = 0
  const run = (fault: Fault, url: string) =>
    limited(untilVisible({ chain, url, fault, count, words: `recovery ${++samples}` }))
  await growWindow(chain, count)
  const { values, failures } = await takeTurns({
    subjects: SUBJECTS,
    rounds: context.rounds,
    async run({ fault }) {
      const all: number[] = []
      for (let left = scaled(SAMPLES, context); left > 0; left--) all.push(await run(fault, chain.url))
      // Another URL is an endpoint without history.
      return { all, first: await run(fault, `${chain.url}/${samples}`) }
    },
    show: ({ all, first }) =>
      `${all.map((ms) => ms.toFixed(0)).join(' ')} ms; first burst ${first.toFixed(0)} ms`,
    say: context.say,
  })
  const unit = 'ms, of all samples'
  const flat = [...values].map(([name, rounds]) => [name, rounds.flatMap(({ all }) => all)] as const)
  const firsts = [...values].map(([name, rounds]) => [name, rounds.map(({ first }) => first)] as const)
  const figures = [
    ...figuresOf({ measure: FLASH, unit }, flat),
    ...figuresOf({ measure: FIRST, unit }, firsts),
  ]
  const p99 = percentileOf(
    flat.flatMap(([, all]) => all),
    0.99,
  )
  return {
    figures,
    checks: [
      ...FAULTS.map((fault) => atMost(`ms after a ${fault}, median`, medianOf(figures, FLASH, fault), 600)),
      atMost('ms after any of them, 99th percentile', p99, 1_000),
    ],
    notes: [
      `Recovery: a fault hits the first request of a burst of ${count}; a fault of the last kind only hits its first transaction. All are pre-confirmed when the process that makes the flashblocks has shown the last of them.`,
      `Bursts of ${2 * count} without faults precede them, until the endpoint's window holds a whole burst. In the first burst at an endpoint the window is 64: it takes two flashblocks even without a loss.`,
      ...failures,
    ],
  }
}

/**
 * Sends bursts without faults until a lane of this process starts with a window that holds a measured burst. A
 * window counts only if it was full, and a process that is just starting may not sign fast enough to fill it.
 */
async function growWindow(chain: FlashChain, count: number): Promise<void> {
  for (let burst = 0; burst <= BURSTS_MAX; burst++) {
    const sender = await senderOn(chain, chain.url, `recovery window ${burst}`)
    try {
      await sender.ready()
      if ((await sender.snapshot()).window >= count) return
      await Promise.all(sendAll(sender, 2 * count).map(preconfirmed))
    } finally {
      await sender.close()
    }
  }
  throw new Error(`the window does not hold ${count} transactions after ${BURSTS_MAX} bursts`)
}

async function senderOn(chain: FlashChain, url: string, words: string): Promise<Sender> {
  const node = { url: chain.directUrl, rpc: createPlainRpc(chain.directUrl) }
  const { privateKey } = await freshAccount(node, words)
  return openSender({ url, chain: flashChainAt(url), privateKey })
}

type Sample = {
  readonly chain: FlashChain
  readonly url: string
  readonly fault: Fault
  readonly count: number
  /** Seed of the account's key. */
  readonly words: string
}

/** Milliseconds from the fault until the last transaction of the burst was in a flashblock. */
async function untilVisible({ chain, url, fault, count, words }: Sample): Promise<number> {
  const sender = await senderOn(chain, url, words)
  try {
    await sender.ready()
    await preconfirmed(sender.send(givenTransfer(0)))
    // Out of step with the flashblocks, so that the samples differ in phase.
    await pause(Math.random() * PAUSE_MS_MAX)
    await chain.arm(fault)
    const hashes = await Promise.all(sendAll(sender, count).map(preconfirmed))
    const struckAtMs = await chain.struckAtMs()
    const visible = await Promise.all(hashes.map((hash) => chain.visibleAtMs(hash)))
    return Math.max(...visible) - struckAtMs
  } finally {
    await sender.close()
  }
}

function sendAll(sender: Sender, count: number) {
  return Array.from({ length: count }, (_, index) => sender.send(givenTransfer(index + 1)))
}

async function preconfirmed(sent: ReturnType<Sender['send']>): Promise<Hex> {
  const { hash } = await (await sent).wait('preconfirmed')
  return hash
}

async function onPool(context: PartContext): Promise<Outcome> {
  const count = scaled(COUNT, context)
  await using node = await startGeth(context.geth)
  const { values, failures } = await takeTurns({
    subjects: SUBJECTS,
    rounds: context.rounds,
    run: ({ fault }, { round }) => limited(untilPooled(node, fault, count, `recovery ${fault} ${round}`)),
    show: (trips) => `${trips.toFixed(2)} round trips on geth`,
    say: context.say,
  })
  const figures = figuresOf({ measure: POOL, unit: `round trips of ${ROUND_TRIP_MS} ms` }, values)
  return {
    figures,
    checks: FAULTS.map((fault) =>
      atMost(
        `round trips after a ${fault}, where the node counts its pool`,
        medianOf(figures, POOL, fault),
        3,
      ),
    ),
    notes: [
      `On geth over a round trip of ${ROUND_TRIP_MS} ms; the pending count is read from the node directly.`,
      ...failures,
    ],
  }
}

/** Round trips from the fault until the node had the whole burst. */
async function untilPooled(node: Geth, fault: Fault, count: number, words: string): Promise<number> {
  const { privateKey, address } = await paidAccount(node, words)
  const struck = createFault()
  await using proxy = await startNodeProxy(node.url, { roundTripMs: ROUND_TRIP_MS, rule: struck.rule })
  const sender = openSender({ url: proxy.url, chain: chainOf(proxy.url, node.chain), privateKey })
  try {
    await sender.ready()
    struck.arm(fault)
    // A block during the measurement would give the lane other information.
    await nextBlock(node.rpc)
    const sent = Promise.all(sendAll(sender, count))
    sent.catch(() => undefined)
    while (hexToNumber((await node.rpc.call('eth_getTransactionCount', address, 'pending')) as Hex) < count)
      await pause(LOOK_MS)
    const struckAtMs = struck.struckAtMs()
    if (struckAtMs === undefined) throw new Error('the fault has not hit a request')
    const ms = sharedNowMs() - struckAtMs
    await sent
    return ms / ROUND_TRIP_MS
  } finally {
    await sender.close()
  }
}

/** @throws Error on timeout; the work continues */
async function limited<t>(work: Promise<t>): Promise<t> {
  const done = await within(systemClock, LIMIT_MS, work)
  if (done === 'late') throw new Error(`no end after ${LIMIT_MS / 1_000} s`)
  return done
}
