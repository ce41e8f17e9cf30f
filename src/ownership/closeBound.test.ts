import type { Address, LocalAccount } from 'viem'
import { expect, test } from 'vitest'
import { createStubAccount } from '../../test/sim/stubAccount.js'
import { storageNonce } from '../allocator/sources.js'
import { createNonceAllocatorIn } from '../api/allocators/allocator.js'
import { createPool } from '../api/pool/pool.js'
import { createMemberIn, createSenderIn } from '../api/sender/sender.js'
import {
  ACCOUNT,
  openLane,
  type SimLane,
  type SimLaneOptions,
  swallow,
  transfer,
} from '../api/sender/simLane.fixture.js'
import type { TxlaneError } from '../errors/base.js'
import type { Port, RpcFailure } from '../rpc/port.js'
import { memoryStore } from '../store/memory.js'
import type { TxRequest } from '../types/index.js'
import type { Store } from '../types/store.js'

const READ_MS = 2_000
const CLOSE_MS = 3_000
/** Virtual time for answers of an endpoint that does answer. */
const ANSWERS_MS = 100
const STORE_MS = 700

const tooMany: RpcFailure = { kind: 'http', status: 429, message: 'HTTP 429' }
const paused: RpcFailure = { ...tooMany, retryAfterMs: 60_000 }

type Behaviour = {
  /** Undefined passes the request on to the node. */
  readonly failure: (request: number) => RpcFailure | 'hangs' | undefined
  /** The longest time of a request on the wire. */
  readonly wireMs: number
}

const always = (failure: RpcFailure): Behaviour => ({ failure: () => failure, wireMs: ANSWERS_MS })

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  answers: { failure: () => undefined, wireMs: ANSWERS_MS },
  'never answers': { failure: () => 'hangs', wireMs: READ_MS + ANSWERS_MS },
  'answers every second request': {
    failure: (request) => (request % 2 === 0 ? 'hangs' : undefined),
    wireMs: READ_MS + ANSWERS_MS,
  },
  'refuses all for the rate': always(tooMany),
  'asks for a pause of a minute': always(paused),
  ...Object.fromEntries(
    [0, 1, 2].map((phase) => [
      `refuses two of three for the rate, from request ${phase}`,
      { failure: (request: number) => (request % 3 === phase ? undefined : tooMany), wireMs: ANSWERS_MS },
    ]),
  ),
  'refuses the key': always({ kind: 'http', status: 401, message: 'HTTP 401' }),
  'refuses connections': always({ kind: 'network', message: 'ECONNREFUSED' }),
}

/** A lane whose endpoint behaves in a given way from `begin` on. */
async function openFaulty(behaviour: Behaviour, options: SimLaneOptions = {}) {
  let isFaulty = false
  let requests = 0
  const around = (port: Port, clock: SimLane['clock']): Port => ({
    ...port,
    async batch(calls, batchOptions = {}) {
      requests++
      const failure = isFaulty ? behaviour.failure(requests) : undefined
      if (failure === undefined) return port.batch(calls, batchOptions)
      const hangs = failure === 'hangs'
      const ms = hangs ? (batchOptions.timeoutMs ?? READ_MS) : 10
      await new Promise<void>((resolve) => void clock.setTimer(resolve, ms))
      const said: RpcFailure = hangs ? { kind: 'timeout', message: 'no answer' } : failure
      return calls.map(() => ({ ok: false, failure: said }))
    },
  })
  const limits = { readTimeoutMs: READ_MS, closeTimeoutMs: CLOSE_MS }
  const lane = await openLane({ around, ...options, limits: { ...limits, ...options.limits } })
  if (options.closed) lane.chain.start()
  return {
    lane,
    begin() {
      isFaulty = true
      requests = 0
    },
    heal() {
      isFaulty = false
    },
    get requests() {
      return requests
    },
  }
}

type Faulty = Awaited<ReturnType<typeof openFaulty>>
type Closing = Pick<SimLane['sender'], 'close'>

/** Closes, and expects the end within the bound, no request after it, and that each of these calls has settled. */
async function expectEnd(
  faulty: Faulty,
  sender: Closing,
  { boundMs, calls, where }: { boundMs: number; calls: readonly Promise<unknown>[]; where: string },
) {
  const { clock } = faulty.lane
  const settled: (string | undefined)[] = calls.map(() => undefined)
  for (const [index, call] of calls.entries())
    call.then(
      () => {
        settled[index] = 'resolved'
      },
      (error: TxlaneError) => {
        settled[index] = error.code
      },
    )
  await clock.settle()
  const begunMs = clock.now()
  const before = [...settled]
  let closes = 0
  let requestsAtClose = Number.NaN
  const first = sender.close().then(() => {
    requestsAtClose = faulty.requests
  })
  for (const close of [first, sender.close()]) void close.then(() => closes++)
  await clock.runUntil(() => closes === 2, 600_000)
  expect(closes, where).toBe(2)
  expect(clock.now() - begunMs, where).toBeLessThanOrEqual(boundMs)
  await clock.settle()
  // A read may also end with its own failure while the close waits for requests.
  for (const [index, end] of settled.entries())
    if (before[index] === undefined) expect(['CLOSED', 'UNREACHABLE', 'resolved'], where).toContain(end)
  await clock.advance(90_000)
  expect(faulty.requests, where).toBe(requestsAtClose)
  faulty.heal()
  return settled
}

/** Gas has to be estimated. */
const unpriced = (marker: number): TxRequest => {
  const { gas: _, ...request } = transfer(marker) as TxRequest & { gas?: bigint }
  return request as TxRequest
}

const OPENING_MS = [0, 1, 7, 15, 25, 40, 130, 450, 1_100, 2_500, 4_800, 9_000, 17_000, 29_900, 40_000]

test.each(Object.entries(BEHAVIOURS))('close during the opening: the endpoint %s', async (_, behaviour) => {
  for (const atMs of OPENING_MS) {
    const faulty = await openFaulty(behaviour, { closed: true })
    await using lane = faulty.lane
    faulty.begin()
    const { sender } = lane
    const calls = [
      sender.ready(),
      sender.send(unpriced(1)),
      sender.snapshot(),
      sender.resync(),
      sender.drain(),
    ]
    for (const call of calls) call.catch(() => {})
    await lane.clock.advance(atMs)
    await expectEnd(faulty, sender, {
      // A lane that is open may have reserved nonces.
      boundMs: behaviour.wireMs + (sender.health().queued + sender.inFlight().length > 0 ? CLOSE_MS : 0),
      calls,
      where: `after ${atMs} ms`,
    })
  }
})

/** Times after the begin of the faults. */
const LATER_MS = [0, 5, 50, 300, 1_500, 6_000, 20_000]

type DurableStore = ReturnType<typeof durableStore>

/** A store that outlives the process. Its calls may take time, and another process may have the lease. */
function durableStore() {
  const inner = memoryStore()
  let pause = async () => {}
  let isLent = false
  let isLost = false
  const slowly = <Given extends unknown[], T>(call: (...given: Given) => Promise<T>) => {
    return async (...given: Given): Promise<T> => {
      await pause()
      return call(...given)
    }
  }
  return {
    ...inner,
    durable: true,
    chains: slowly(inner.chains),
    load: slowly(inner.load),
    release: slowly(inner.release),
    acquire: slowly(async (...given: Parameters<Store['acquire']>) =>
      isLent ? undefined : inner.acquire(...given),
    ),
    async renew(...given: Parameters<Store['renew']>) {
      if (!isLost) return inner.renew(...given)
      isLost = false
      return []
    },
    slow(lane: SimLane) {
      pause = () => new Promise((resolve) => void lane.clock.setTimer(resolve, STORE_MS))
    },
    lend(lent: boolean) {
      isLent = lent
    },
    losesLease() {
      isLost = true
    },
  }
}

type Moment = {
  readonly closed?: boolean
  /** The lane may have nonces to finish. */
  readonly hasNonces?: boolean
  /** Brings the lane to the moment. Returns the calls that are pending then, and what is closed: the sender by default. */
  readonly come: (
    faulty: Faulty,
    store: DurableStore,
  ) => Promise<{ readonly calls: readonly Promise<unknown>[]; readonly closing?: Closing }>
  /** How many senders close one after the other. */
  readonly closes?: number
  /** The time that the store may take. */
  readonly storeMs?: number
}

const neighbour = ({ lane }: Faulty, address = ACCOUNT as Address) =>
  createSenderIn(lane.environment, { ...lane.parameters, account: createStubAccount(address, lane) })

async function queuedWhileAnotherOwns(lane: SimLane, store: DurableStore) {
  store.lend(true)
  await lane.settle(lane.sender.ready())
  return lane.settle(lane.sender.send(transfer(1), { until: 'queued' }))
}

const MOMENTS: Readonly<Record<string, Moment>> = {
  'while transactions are prepared': {
    hasNonces: true,
    async come({ begin, lane: { sender } }) {
      begin()
      return { calls: [1, 2, 3].map((marker) => sender.send(unpriced(marker))) }
    },
  },
  'while transactions are sent': {
    hasNonces: true,
    async come({ begin, lane: { sender } }) {
      begin()
      return { calls: [1, 2, 3].map((marker) => sender.send(transfer(marker))) }
    },
  },
  'while transactions are in flight': {
    hasNonces: true,
    async come({ begin, lane }) {
      lane.script = swallow(1)
      const tx = await lane.settle(lane.sender.send(transfer(1)))
      begin()
      return { calls: [tx.wait('sealed'), lane.sender.drain(), lane.sender.resync(), lane.sender.ready()] }
    },
  },
  'before the store answers': {
    hasNonces: true,
    closed: true,
    async come({ begin, lane }, store) {
      store.slow(lane)
      begin()
      return { calls: [lane.sender.ready(), lane.sender.send(transfer(1))] }
    },
    // The call that is under way, those that follow it without an endpoint, and the one that gives the lane back.
    storeMs: 4 * STORE_MS,
  },
  'while another process has the lease': {
    closed: true,
    async come({ begin, lane }, store) {
      const tx = await queuedWhileAnotherOwns(lane, store)
      begin()
      return { calls: [tx.wait(), lane.sender.drain(), lane.sender.resync()] }
    },
  },
  'while it takes over from another process': {
    hasNonces: true,
    closed: true,
    async come({ begin, lane }, store) {
      const tx = await queuedWhileAnotherOwns(lane, store)
      begin()
      store.lend(false)
      return { calls: [tx.wait(), lane.sender.drain(), lane.sender.resync()] }
    },
  },
  'after another process took the lease': {
    hasNonces: true,
    async come({ begin, lane }, store) {
      lane.script = swallow(1)
      const tx = await lane.settle(lane.sender.send(transfer(1)))
      begin()
      store.losesLease()
      await lane.until(() => lane.events('leaseLost').length > 0)
      return { calls: [tx.wait('sealed'), lane.sender.drain()] }
    },
  },
  'of the sender that waits for the lane which another one opens': {
    closes: 2,
    hasNonces: true,
    closed: true,
    async come(faulty) {
      const joining = neighbour(faulty)
      faulty.begin()
      faulty.lane.sender.ready().catch(() => {})
      const closing = {
        async close() {
          await joining.close()
          await faulty.lane.sender.close()
        },
      }
      return { calls: [joining.ready(), joining.send(transfer(1))], closing }
    },
  },
  'of the sender that opens the lane for another one': {
    closes: 2,
    closed: true,
    async come(faulty) {
      faulty.begin()
      const calls = [faulty.lane.sender.ready()]
      const joining = neighbour(faulty)
      joining.ready().catch(() => {})
      const closing = {
        async close() {
          await faulty.lane.sender.close()
          await joining.close()
        },
      }
      return { calls, closing }
    },
  },
  'of a pool': {
    hasNonces: true,
    closed: true,
    async come(faulty) {
      const make = ({ address }: Pick<LocalAccount, 'address'>) =>
        createMemberIn(faulty.lane.environment, {
          ...faulty.lane.parameters,
          account: createStubAccount(address, faulty.lane),
        })
      const pool = createPool([make({ address: ACCOUNT }), make({ address: OTHER })], { make })
      faulty.begin()
      return { calls: [pool.ready(), pool.send(unpriced(1)), pool.drain()], closing: pool }
    },
  },
  'of an allocator': {
    closed: true,
    async come({ begin, lane }) {
      const allocator = createNonceAllocatorIn(lane.environment, { ...allocating(lane), address: ACCOUNT })
      begin()
      return { calls: [allocator.ready(), allocator.reserve(), allocator.resync()], closing: allocator }
    },
  },
  'of an allocator of the counter of a contract': {
    closed: true,
    async come({ begin, lane }) {
      lane.script = ({ method }) =>
        method === 'eth_getStorageAt' ? { ok: true, result: `0x${'0'.repeat(63)}7` } : undefined
      const source = storageNonce({ address: OTHER, slot: 5n })
      const allocator = createNonceAllocatorIn<bigint>(lane.environment, {
        ...allocating(lane),
        address: OTHER,
        source,
      })
      begin()
      return { calls: [allocator.ready(), allocator.reserve(), allocator.resync()], closing: allocator }
    },
  },
}

const OTHER = '0x00000000000000000000000000000000000000bb'

const allocating = ({ parameters: { client, lossDepth, store, limits } }: SimLane) => ({
  client: client as never,
  lossDepth,
  store,
  limits,
})

test.each(
  Object.entries(MOMENTS).flatMap(([when, moment]) =>
    Object.entries(BEHAVIOURS).map(([how, behaviour]) => ({ when, how, moment, behaviour })),
  ),
)('close $when: the endpoint $how', async ({ moment, behaviour }) => {
  for (const atMs of LATER_MS) {
    const store = durableStore()
    const faulty = await openFaulty(behaviour, { closed: moment.closed ?? false, store })
    await using lane = faulty.lane
    const { calls, closing = lane.sender } = await moment.come(faulty, store)
    for (const call of calls) call.catch(() => {})
    await lane.clock.advance(atMs)
    await expectEnd(faulty, closing, {
      boundMs:
        behaviour.wireMs * (moment.closes ?? 1) + (moment.hasNonces ? CLOSE_MS : 0) + (moment.storeMs ?? 0),
      calls,
      where: `after ${atMs} ms`,
    })
  }
})
