import type { Address, Chain, LocalAccount } from 'viem'
import { hasRecords, lowerLatest, type Seeded, seedBook } from '../allocator/seed.js'
import { readBalances } from '../chain/endpoints/balances.js'
import { type Hub, readLaneAt } from '../chain/endpoints/endpointPool.js'
import { type Patience, patientPort } from '../chain/endpoints/patientPort.js'
import { tryAgain } from '../chain/endpoints/retryRead.js'
import { hasSingleSequencer } from '../chain/endpoints/singleSequencer.js'
import type { Environment } from '../chain/environment.js'
import type { Admission } from '../lane/admission/admission.js'
import type { Seed } from '../lane/confirmation/seeding.js'
import { type Ahead, createAhead } from '../lane/engine/ahead.js'
import { createEngine } from '../lane/engine/engine.js'
import { restoreTransactions } from '../lane/engine/restore.js'
import type { LaneHandle } from '../lane/session/laneSession.js'
import { follow } from '../lane/transaction/transactionEvents.js'
import type { BlockRef } from '../ledger/slot.js'
import type { LaneReading } from '../rpc/methods/readLane.js'
import { hasEnded } from '../store/ended.js'
import type { LaneState, Lease, Store } from '../types/store.js'
import type { LaneLog } from './laneLog.js'
import { createHolder, type Holder } from './leader.js'
import type { OpenOptions } from './open.js'
import { reportedOptions } from './reportedOptions.js'
import { spentInRecords } from './spentInRecords.js'

export type TakeUpParts = {
  readonly options: OpenOptions
  readonly environment: Environment
  readonly hub: Hub
  readonly store: Store
  readonly handle: LaneHandle
  readonly log: LaneLog
  readonly admission: Admission
  readonly lease: Lease
  /** This process was the one that held the lane last: what the store says of it cannot be from before. */
  readonly seen: boolean
  /** Asked when the reading is done: who can sign may join while that takes its time. */
  readonly signer: () => LocalAccount | undefined
  readonly leased: () => boolean
  /** The journal found out that another process has the lane. */
  readonly lost: () => void
  /** In the turn in which the holder is made, so that nothing asked of the lane falls in between. */
  readonly taken: (holder: Holder) => void
}

/**
 * Takes the lane up where the store and the chain say it stands. Records, chain, book, engine: in this order, so that
 * nothing is handed out before all of it is known. The holder that `taken` gets has not begun to follow the chain.
 */
export async function takeUp(parts: TakeUpParts): Promise<void> {
  const ahead = createAhead(parts)
  try {
    const state = await parts.store.load(parts.lease)
    await begin(parts, state, await readAccount(parts, ahead), ahead)
  } catch (error) {
    ahead.clock.stop()
    throw error
  }
}

async function begin(
  parts: TakeUpParts,
  state: LaneState,
  { reading, other, balanceWei }: Account,
  ahead: Ahead,
): Promise<void> {
  const { options, environment, hub, store, handle, lease, seen } = parts
  const { limits } = options
  const { key } = handle
  hub.tracker.saw(reading.latest.header)
  const seeded = seedBook(reading, state, { durable: store.durable, seen }, limits.seedSpanMax, other)
  const { book, tokenAbove } = seeded
  const spentBefore = await spentInRecords({ store, clock: ahead.clock, handle }, state)
  await learnEnds(parts, new Set(state.transactions.map(({ id }) => id)))
  for (const one of state.transactions) if (!handle.transactions.has(one.id)) handle.adopt(one)
  const restored = await restoreTransactions(state.transactions, {
    book,
    known: handle.transactions,
    learn: (transaction, stored) => follow(handle, transaction, stored),
    find: (id) => store.find(key, { id }),
    clock: environment.clock,
  })
  // From here on there is something that works by itself, and nothing is awaited until it has begun.
  const engine = createEngine({
    environment,
    handle,
    admission: parts.admission,
    hub,
    store,
    key,
    lease,
    leased: parts.leased,
    lost: parts.lost,
    book,
    seed: seedOf(parts, { reading, other }, seeded, state),
    tokenAbove,
    arrived: state.arrived,
    limits,
    logger: parts.log.logger,
    notice: parts.log.notice,
    signer: parts.signer(),
    ahead,
    spentBefore,
    lossDepth: options.lossDepth ?? defaultLossDepth(options.client.chain),
    broadcast: options.broadcast ?? 'first',
    simulate: options.simulate ?? false,
    gasMultiplier: options.gasMultiplier ?? 1,
    groups: options.groups,
  })
  engine.accountIs(reading.account)
  const { holds } = engine.context.lane
  if (seeded.storeBehindChain) holds.add('storeBehindChain')
  if (handle.paused) holds.add('paused')
  engine.restore(restored)
  if (balanceWei !== undefined) engine.setBalance(balanceWei)
  parts.taken(createHolder({ engine, limits, options: reportedOptions(options) }))
}

type Readings = { readonly reading: LaneReading; readonly other: LaneReading }
type Account = Readings & { readonly balanceWei: bigint | undefined }

/** All at once: none of it rests on another part. */
async function readAccount(parts: TakeUpParts, ahead: Ahead): Promise<Account> {
  const { hub, handle, options } = parts
  const balance = () => readBalance(hub, handle.key.address, options.limits.readTimeoutMs)
  const reading = [readTwice(parts), balance()] as const
  ahead.ask()
  const [readings, balanceWei] = await Promise.all(reading)
  return { ...readings, balanceWei: balanceWei ?? (await balance()) }
}

/** What another endpoint may take for its reading, where the one that is read has answered. */
const OTHER_TIMEOUT_MS = 2_000

/**
 * The account as the endpoint that is read shows it, and as another one does; where there is none that answers, as the
 * same one shows it at the same time, which may be another backend.
 */
async function readTwice({ environment, hub, handle, options }: TakeUpParts): Promise<Readings> {
  const { address } = handle.key
  const { readTimeoutMs, readyTimeoutMs } = options.limits
  const { clock } = environment
  const patience: Patience = {
    clock,
    untilMs: clock.now() + readyTimeoutMs,
    stop: handle.closing,
  }
  const readOnce = () => {
    const { gate, port } = hub.reader
    return readLaneAt(hub, { gate, port: patientPort(port, patience) }, { address, timeoutMs: readTimeoutMs })
  }
  const read = () => tryAgain(readOnce, patience)
  const [elsewhere] = hub.others()
  const timeoutMs = Math.min(OTHER_TIMEOUT_MS, readTimeoutMs)
  const second =
    elsewhere && readLaneAt(hub, elsewhere, { address, timeoutMs }).catch((): undefined => undefined)
  const [reading, other] = await Promise.all([read(), second ?? read()])
  return { reading, other: other ?? (await read()) }
}

/** Without records nothing is known of the account but counts, unless no endpoint shows that it ever sent. */
function seedOf(
  { options }: TakeUpParts,
  { reading, other }: Readings,
  { isDisbelieved, storeCursor, storeDisputed }: Seeded,
  state: LaneState,
): Seed {
  const latest = lowerLatest(reading, other)
  const pending = reading.pending?.count ?? latest
  const hasSent = [reading, other].some((one) => one.latest.count > 0 || (one.pending?.count ?? 0) > 0)
  return {
    latest,
    pending,
    head: reading.latest.header.number,
    history: historyOf({ reading, other }, state),
    isUnsettled: !hasRecords(state) && options.coldStart !== 'immediate' && hasSent,
    isDisbelieved,
    storeCursor,
    storeDisputed,
    storeMadeAt: newestMadeAt(state),
  }
}

/** The newest block that is proven to be older than what the store has forgotten, if it has forgotten anything. */
function newestMadeAt({ slots }: LaneState): BlockRef | undefined {
  const known = slots.flatMap(({ attempts }) => attempts.flatMap(({ madeAt }) => madeAt ?? []))
  return known.reduce<BlockRef | undefined>(
    (newest, one) => (newest !== undefined && newest.number >= one.number ? newest : one),
    undefined,
  )
}

/** A lane with records knows of the nonces from the lowest one on; one without, of the blocks that are to come. */
function historyOf({ reading, other }: Readings, state: LaneState): Seed['history'] {
  if (!hasRecords(state))
    return { block: Math.min(reading.latest.header.number, other.latest.header.number), nonce: 0 }
  return { block: -1, nonce: state.slots.reduce((low, { nonce }) => Math.min(low, nonce), state.cursor ?? 0) }
}

/**
 * What somebody here knows of and is not open in the store has ended there while another process held the lane, was
 * handed to another lane, or has yet to arrive. Nobody else can end it from now on.
 */
async function learnEnds({ store, handle }: TakeUpParts, open: ReadonlySet<string>): Promise<void> {
  for (const transaction of [...handle.transactions.values()]) {
    if (open.has(transaction.id)) continue
    const stored = await store.find(handle.key, { id: transaction.id })
    if (stored !== undefined && stored.lane.address !== handle.key.address) {
      handle.strays?.add(transaction, stored)
      continue
    }
    if (stored === undefined || !hasEnded(stored.stage)) continue
    follow(handle, transaction, stored)
    handle.transactions.delete(transaction.id)
  }
}

/** Without an answer the lane begins without a budget: the node's own refusals bring one. */
async function readBalance(hub: Hub, address: Address, timeoutMs: number): Promise<bigint | undefined> {
  return (await readBalances(hub.reader.port, [address], { timeoutMs }))[0]
}

/** One block of a single sequencer is as good as settled. */
export function defaultLossDepth(chain: Chain): 'child' | 'safe' {
  return hasSingleSequencer(chain) ? 'child' : 'safe'
}
