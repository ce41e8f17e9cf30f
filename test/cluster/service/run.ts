import { systemClock } from '../../../src/platform/clock.js'
import { walkBlocks } from '../../demo/walk.js'
import { deriveRandom } from '../../sim/random.js'
import { pause } from '../../support/pause.js'
import { askRelayer } from '../../support/relayer.js'
import type { Place } from '../../sweep/place.js'
import { HONEST, listAll } from './callers.js'
import { type FaultPlan, planFaults, strike } from './faults.js'
import { createHostile, MALLORY } from './hostile.js'
import { type Load, startLoad } from './load.js'
import { type ServiceResult, serviceResultOf } from './result.js'
import type { Service } from './services.js'
import { openSetting, type Setting } from './setting.js'
import { isOver, type Reported, verdictOf } from './verdict.js'

export type ServiceOptions = Omit<FaultPlan, 'database'> & {
  readonly processes: number
  readonly keys: number
  readonly requests: number
}

/** This share of the requests is accepted before the first fault. */
const CALM_SHARE = 0.3
/** If the number of open transactions has not fallen for this long, they are stranded. */
const STANDSTILL_MS = 60_000
const LOOK_MS = 1_000
const SOON_MS = 100

export type Say = (line: string) => void

/**
 * Sends requests to several processes of examples/relayer, inflicts faults on them, and compares their
 * answers with the blocks.
 */
export async function runService(options: ServiceOptions, place: Place, say: Say): Promise<ServiceResult> {
  const beganMs = systemClock.wallNow()
  await using setting = await openSetting(options, place)
  const { node, services, receiver, accounts } = setting
  const failures: string[] = []
  const failed = (why: string) => void failures.push(why)
  await Promise.all(services.map((service) => service.start()))
  await Promise.all(services.map(isReady))

  const load = startLoad({ ...options, urls: services.map(({ url }) => url), failed })
  const hostile = createHostile(() => services.find(({ isUp }) => isUp)?.url, load.wanted[0]?.key ?? '')
  let isDone = false
  const harm = hostile.run(() => isDone)
  const calmAtMs = await suffer(options, { setting, load, place, failed, say })
  const accepted = await load.accepted
  isDone = true
  await harm
  say(`${accepted.length} of ${load.wanted.length} accepted`)

  const reported = await settled(services)
  const heard = () => new Set(receiver.accepted.map(({ tx }) => tx.id)).size
  await progressing(() => accepted.length - heard())
  for (const service of services) {
    const why = await service.end()
    if (why !== undefined) failed(`process ${service.number} did not end well: ${why}`)
  }
  const { transactions } = await walkBlocks(node.rpc, accounts, 0)
  if (receiver.unsigned > 0) failed(`${receiver.unsigned} deliveries were not signed`)
  return serviceResultOf({
    options,
    node: node.kind,
    seconds: (systemClock.wallNow() - beganMs) / 1_000,
    accepted,
    calmAtMs,
    tries: load.answers,
    lives: services.reduce((sum, { lives }) => sum + lives, 0),
    deliveries: receiver.accepted.length,
    hostile,
    verdict: verdictOf({
      wanted: accepted.map(({ wanted }) => wanted),
      others: [...hostile.accepted].map((key) => `${MALLORY.name}/${key}`),
      reported,
      executed: transactions,
      deliveries: receiver.accepted,
      hooked: new Set(HONEST),
    }),
    failures,
  })
}

/** The faults come one after the other, spread over the load. Resolves with the time of the first. */
async function suffer(
  options: ServiceOptions,
  parts: {
    readonly setting: Setting
    readonly load: Load
    readonly place: Place
    readonly failed: (why: string) => void
    readonly say: Say
  },
): Promise<number> {
  const { setting, load, place, failed, say } = parts
  const { services, changeKeys } = setting
  const { restart } = place
  const random = deriveRandom(options.seed, 'service victims')
  const faults = planFaults({ ...options, database: restart !== undefined })
  let calmAtMs = Number.POSITIVE_INFINITY
  for (const [index, fault] of faults.entries()) {
    while (load.share < CALM_SHARE + ((1 - CALM_SHARE) * index) / faults.length) await pause(SOON_MS)
    calmAtMs = Math.min(calmAtMs, systemClock.wallNow())
    say(`${index + 1} of ${faults.length}: ${fault}, at ${Math.round(load.share * 100)} % of the requests`)
    await strike(fault, { services, random, restart, changeKeys, failed })
  }
  return calmAtMs
}

/**
 * Waits until all transactions of the callers are finished, or none makes progress. Returns their reported
 * states.
 */
async function settled([first]: readonly Service[]): Promise<readonly Reported[]> {
  let reported: readonly Reported[] = []
  await progressing(async () => {
    reported = await listAll((first as Service).url)
    return reported.filter((one) => !isOver(one)).length
  })
  return reported
}

/** Resolves once nothing is open, or the number of open transactions has not fallen for a while. */
async function progressing(open: () => number | Promise<number>): Promise<void> {
  let least = Number.POSITIVE_INFINITY
  for (let atMs = systemClock.wallNow(); systemClock.wallNow() - atMs < STANDSTILL_MS; await pause(LOOK_MS)) {
    const now = await open()
    if (now === 0) return
    if (now >= least) continue
    least = now
    atMs = systemClock.wallNow()
  }
}

async function isReady({ url }: Service): Promise<void> {
  while ((await askRelayer(url, undefined, '/readyz')).status !== 200) await pause(SOON_MS)
}
