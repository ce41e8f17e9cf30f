import type { Sender } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { startNodeProxy } from '../../support/nodeProxy.js'
import type { RunningNode, StartOptions } from '../run/startNode.js'
import { type Fresh, freshAccount } from '../tools/accounts.js'
import { firstLine } from '../tools/firstLine.js'
import { type Landed, landedOf } from '../tools/landed.js'
import { type Burst, openLane, startBurst } from '../tools/lane.js'
import { within } from '../tools/within.js'
import { type Held, type NodeCase, type Setting, seconds } from './nodeCase.js'

const AMOUNT = 1_000
const CLOSE_MS = 30_000
/**
 * A path without loss needs one send per payment. The rest allows for nodes that a busy machine stops for
 * seconds.
 */
const SENDS_MAX = 1.5
/** A transaction that a full pool drops after its answer has to be sent again. */
const SMALL_POOL_SENDS_MAX = 4

type Given = {
  readonly keys: number
  readonly roundTripMs: number
  readonly limitMs: number
  /** The average number of sends per payment. */
  readonly sendsMax: number
}

/** 1,000 payments at once by one or several keys, over a path with this round trip. */
const burst = (keys: number, roundTripMs: number): NodeCase => ({
  name: `burst of 1,000, ${keys} ${keys === 1 ? 'key' : 'keys'}, ${roundTripMs} ms`,
  quick: keys === 1 && roundTripMs === 0,
  async run(setting) {
    const running = await setting.shared('interval')
    const { burstLimitMs: limitMs, keepsBack } = setting.description
    const sendsMax = keepsBack === undefined ? SENDS_MAX : Number.POSITIVE_INFINITY
    return runBurst(running, { keys, roundTripMs, limitMs, sendsMax })
  },
})

export const bursts: readonly NodeCase[] = [1, 4].flatMap((keys) =>
  [0, 50, 250].map((roundTripMs) => burst(keys, roundTripMs)),
)

async function onNew(
  setting: Setting,
  options: StartOptions,
  bounds: Pick<Given, 'limitMs' | 'sendsMax'>,
): Promise<Held> {
  await using running = await setting.start(options)
  return await runBurst(running, { keys: 1, roundTripMs: 0, ...bounds })
}

/** The mode in which a newcomer starts it. */
export const plainBurst: NodeCase = {
  name: 'burst of 1,000, as it starts',
  run: (setting) =>
    onNew(setting, { mode: 'plain' }, { limitMs: setting.description.burstLimitMs, sendsMax: SENDS_MAX }),
}

/** A pool that answers with the hash of a transaction and then drops it. */
export const smallPoolBurst: NodeCase = {
  name: 'burst of 1,000, small pool',
  needs: ['poolLimits'],
  run: (setting) =>
    onNew(
      setting,
      { mode: 'interval', more: setting.description.smallPool },
      { limitMs: 400_000, sendsMax: SMALL_POOL_SENDS_MAX },
    ),
}

async function runBurst(running: RunningNode, given: Given): Promise<Held> {
  await using proxy = await startNodeProxy(running.url, { roundTripMs: given.roundTripMs })
  const fresh: Fresh[] = []
  for (let made = 0; made < given.keys; made++) fresh.push(await freshAccount(running))
  const senders = await Promise.all(fresh.map((one) => openLane(running, one, { url: proxy.url })))
  const startMs = systemClock.now()
  const bursts = senders.map((sender) => startBurst(sender, AMOUNT / given.keys))
  const all = Promise.all(bursts.map(({ done }) => done))
  const late = await within(given.limitMs, 'the burst', all).then(
    () => '',
    (error: Error) => error.message,
  )
  const took = seconds(systemClock.now() - startMs)
  const stood = late === '' ? [] : [late, ...(await Promise.all(senders.map(standing)))]
  await within(CLOSE_MS, 'close()', Promise.all(senders.map((sender) => sender.close())))
  const landed = await Promise.all(fresh.map((one) => landedOf(running, one)))
  const total = (of: (one: Landed) => number) => landed.reduce((sum, one) => sum + of(one), 0)
  const failed = bursts.flatMap((one) => one.failed)
  const once = landed.every(({ dense, paid, distinct }) => dense && paid === distinct)
  const [distinct, noops] = [total((one) => one.distinct), total((one) => one.noops)]
  const figures = [
    `${distinct} landed${once ? ' once each, dense' : ', NOT once each'}`,
    ...(noops === 0 ? [] : [`${noops} no-ops`]),
    `${(proxy.sends / AMOUNT).toFixed(2)} sends each`,
    `${proxy.requests} requests`,
    took,
  ]
  const ends = failed.length === 0 ? [] : [`${failed.length} failed, the first with: ${firstLine(failed[0])}`]
  // If a node holds some transactions back, each reported outcome must still be true.
  const lost = running.description.keepsBack === undefined ? 0 : failed.length
  const isFrugal = proxy.sends <= AMOUNT * given.sendsMax
  const ok = once && late === '' && isFrugal && distinct === AMOUNT - lost && sealedOf(bursts) === distinct
  return { ok, says: [...figures, ...stood, ...ends].join(', ') }
}

function sealedOf(bursts: readonly Burst[]): number {
  return bursts.reduce((sum, { sealed }) => sum + sealed, 0)
}

async function standing(sender: Sender): Promise<string> {
  const { holds, floor, cursor } = await sender.snapshot()
  return `floor ${floor} of ${cursor}, holds: ${holds.join(' ') || 'none'}`
}
