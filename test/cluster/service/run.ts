import { privateKeyToAddress } from 'viem/accounts'
import { walkBlocks } from '../../../src/cli/demo/walk.js'
import { systemClock } from '../../../src/clock.js'
import { accountKey } from '../../../src/devnet/accounts.js'
import { deriveRandom } from '../../sim/random.js'
import { bundleChild } from '../../support/bundleChild.js'
import { startHookReceiver } from '../../support/hookReceiver.js'
import { pause } from '../../support/pause.js'
import {
  askRelayer,
  type CallerEntry,
  digestOf,
  type RelayerAnswer,
  relayerFiles,
} from '../../support/relayer.js'
import type { Place } from '../../sweep/place.js'
import { type FaultPlan, planFaults, strike } from './faults.js'
import { createHostile, MALLORY } from './hostile.js'
import { startServiceNode } from './node.js'
import { type Accepted, request, type Wanted, wantedOf } from './requests.js'
import { type ServiceResult, serviceResultOf } from './result.js'
import { createService, type Service } from './services.js'
import { type Told, verdictOf } from './verdict.js'

export type ServiceOptions = Omit<FaultPlan, 'database'> & {
  readonly processes: number
  readonly keys: number
  readonly requests: number
}

const PROGRAM = new URL('../../../examples/relayer/server.ts', import.meta.url)
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const HONEST = ['alice', 'bob', 'carol', 'dave'] as const
/** Requests that each caller has open at once. */
const AT_ONCE = 8
/** So many are accepted before the first fault. */
const CALM_SHARE = 0.3
/** What is open for so long, and does not become less, is stranded. */
const STANDSTILL_MS = 60_000
const LOOK_MS = 1_000
const PAGE = 1_000
/** One in so many deliveries is refused at first, as receivers are. */
const REFUSED_ONE_IN = 20
const TREASURY_WEI = 10n ** 21n
const KEY_WEI = 10n ** 17n
// Keys are not those of the devnet, which have money there.
const keyOf = (index: number) => accountKey(100 + index)

export type Say = (line: string) => void

/** Sends requests to several processes of examples/relayer, does them harm, and holds what they said against the blocks. */
export async function runService(options: ServiceOptions, place: Place, say: Say): Promise<ServiceResult> {
  const { processes, keys, requests, seed } = options
  const beganMs = systemClock.wallNow()
  await using bundle = await bundleChild(PROGRAM)
  await using node = await startServiceNode(seed)
  await using files = await relayerFiles()
  let refusals = 0
  await using receiver = await startHookReceiver(SECRET, () =>
    refusals++ % REFUSED_ONE_IN === 0 ? 503 : 204,
  )
  await using silent = await startHookReceiver(SECRET, () => 'silence')
  await files.writeCallers([...HONEST.map((name) => honest(name, receiver.url)), hostileEntry(silent.url)])
  const present = Array.from({ length: keys }, (_, index) => keyOf(index))
  await files.writeKeys(present)
  const treasury = keyOf(keys + 1)
  const all = [...present, keyOf(keys), treasury].map((key) => privateKeyToAddress(key))
  await node.fund([privateKeyToAddress(treasury)], TREASURY_WEI)
  // The last of the keys begins without money: the treasury has to pay it.
  await node.fund(present.slice(0, -1).map(privateKeyToAddress), KEY_WEI)

  const { store } = place
  if (store.kind !== 'postgres') throw new Error('The service keeps its transactions in PostgreSQL.')
  const environment = {
    RPC_URL: node.url,
    CHAIN_ID: `${node.chainId}`,
    DATABASE_URL: store.connectionString,
    DATABASE_SCHEMA: store.schema,
    TREASURY_KEY: treasury,
    TREASURY_BELOW: '0.05',
    TREASURY_UP_TO: '0.2',
    ...files.environment,
  }
  const services = await Promise.all(
    Array.from({ length: processes }, (_, number) => createService(number, bundle.path, environment)),
  )
  const failures: string[] = []
  const tries = new Map<string, number>()
  try {
    await Promise.all(services.map((service) => service.start()))
    await Promise.all(services.map(isReady))
    const wanted = HONEST.flatMap((name) =>
      Array.from({ length: Math.ceil(requests / HONEST.length) }, (_, index) =>
        wantedOf({ name, token: tokenOf(name) }, seed, index),
      ),
    )
    const load = startLoad(wanted)
    const random = deriveRandom(seed, 'service victims')
    const hostile = createHostile(() => services.find(({ isUp }) => isUp)?.url, (wanted[0] as Wanted).key)
    let isOver = false
    const harm = hostile.run(() => isOver)
    const calmAtMs = await suffer(load, random)
    const accepted = await load.done
    isOver = true
    await harm
    say(`${accepted.length} of ${wanted.length} accepted`)
    const told = await settled(services)
    const heard = () => new Set(receiver.accepted.map(({ tx }) => tx.id)).size
    await progressing(() => wanted.length - heard())
    for (const service of services) {
      const why = await service.end()
      if (why !== undefined) failures.push(`process ${service.number} did not end well: ${why}`)
    }
    const { transactions } = await walkBlocks(node.rpc, all, 0)
    const verdict = verdictOf({
      wanted: accepted.map((one) => one.wanted),
      told,
      executed: transactions,
      deliveries: receiver.accepted,
      hooked: new Set(HONEST),
    })
    if (receiver.unsigned > 0) failures.push(`${receiver.unsigned} deliveries were not signed`)
    return serviceResultOf({
      options,
      node: node.kind,
      seconds: (systemClock.wallNow() - beganMs) / 1_000,
      accepted,
      calmAtMs,
      tries,
      lives: services.reduce((sum, { lives }) => sum + lives, 0),
      deliveries: receiver.accepted.length,
      hostile,
      verdict,
      failures,
    })
  } finally {
    await Promise.all(services.map((service) => service.kill()))
  }

  /** Each caller has a few requests open at once. `share` is how much of all is accepted. */
  function startLoad(wanted: readonly Wanted[]) {
    const accepted: Accepted[] = []
    const urls = services.map(({ url }) => url)
    const queues = HONEST.map((name) => wanted.filter(({ caller }) => caller === name))
    const lines = queues.flatMap((queue) =>
      Array.from({ length: AT_ONCE }, async (_, line) => {
        for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
          const count = (answer: string) => tries.set(answer, (tries.get(answer) ?? 0) + 1)
          await request(one, urls, line, count).then(
            (each) => void accepted.push(each),
            (error: Error) => void failures.push(`not accepted: ${error.message}`),
          )
        }
      }),
    )
    return { done: Promise.all(lines).then(() => accepted), share: () => accepted.length / wanted.length }
  }

  /** The faults come one after the other, spread over the load. Resolves with when the first one came. */
  async function suffer({ share }: { share(): number }, random: () => number): Promise<number> {
    const faults = planFaults({ ...options, database: place.restart !== undefined })
    let calmAtMs = Number.POSITIVE_INFINITY
    for (const [index, fault] of faults.entries()) {
      const from = CALM_SHARE + ((1 - CALM_SHARE) * index) / faults.length
      while (share() < from) await pause(LOOK_MS / 10)
      calmAtMs = Math.min(calmAtMs, systemClock.wallNow())
      say(`${index + 1} of ${faults.length}: ${fault}, at ${Math.round(share() * 100)} % accepted`)
      const failed = (why: string) => void failures.push(why)
      await strike(fault, { services, random, restart: place.restart, changeKeys, failed })
    }
    return calmAtMs
  }

  /** One key goes, another one comes, in all processes that run; those that start later read the file. */
  async function changeKeys(): Promise<void> {
    await files.writeKeys([`retired ${present[0]}`, ...present.slice(1), keyOf(keys)])
    await Promise.all(
      services
        .filter(({ isUp }) => isUp)
        .map((service) => {
          service.signal('SIGHUP')
          return service.says(/account added/)
        }),
    )
  }

  /** Waits until what the callers sent has come to an end, or nothing moves any more, and gives back what is said of it. */
  async function settled(from: readonly Service[]): Promise<readonly Told[]> {
    let told: Told[] = []
    await progressing(async () => {
      told = await listAll(from[0] as Service)
      return told.filter(({ stage }) => ['queued', 'signed', 'accepted', 'preconfirmed'].includes(stage))
        .length
    })
    return told
  }

  async function listAll({ url }: Service): Promise<Told[]> {
    const told: Told[] = []
    for (const name of [...HONEST, MALLORY.name]) {
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        const next = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
        const { status, body } = await patient(url, tokenOf(name), `/v1/transactions?limit=${PAGE}${next}`)
        if (status !== 200) throw new Error(`the list of ${name} is a ${status}`)
        told.push(...(body.items ?? []))
        cursor = body.cursor
      }
    }
    return told
  }
}

async function patient(url: string, token: string, path: string): Promise<RelayerAnswer> {
  for (;;) {
    const answer = await askRelayer(url, token, path)
    if (![429, 503].includes(answer.status)) return answer
    await pause(LOOK_MS)
  }
}

/** Resolves once nothing is open, or what is open has not become less for a while. */
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
  while ((await askRelayer(url, undefined, '/readyz')).status !== 200) await pause(LOOK_MS / 10)
}

const tokenOf = (name: string) => (name === MALLORY.name ? MALLORY.token : `the-token-of-${name}`)

function honest(name: string, url: string): CallerEntry {
  const keys = [digestOf(tokenOf(name))]
  return { name, keys, valueMax: '1', requestsPerSecond: 1_000, webhook: { url, secret: SECRET } }
}

/** She may send any value, so that what stops her is not the file. */
function hostileEntry(url: string): CallerEntry {
  const { name, token } = MALLORY
  return {
    name,
    keys: [digestOf(token)],
    valueMax: `${10n ** 31n}`,
    requestsPerSecond: 40,
    webhook: { url, secret: SECRET },
  }
}
