import type { Address, Chain, LocalAccount } from 'viem'
import { hasRecords, lowerLatest, type Seeded, seedBook } from '../allocator/seed.js'
import { readBalances } from '../chain/endpoints/balances.js'
import { type EndpointPool, hasSingleSequencer, readLaneAt } from '../chain/endpoints/endpointPool.js'
import { type Patience, patientPort, retryRead } from '../chain/endpoints/patientPort.js'
import type { Environment } from '../chain/environment.js'
import type { Admission } from '../lane/admission/admission.js'
import type { Seed } from '../lane/confirmation/seeding.js'
import { type Ahead, createAhead } from '../lane/engine/ahead.js'
import { createEngine } from '../lane/engine/engine.js'
import type { Engine } from '../lane/engine/engineTypes.js'
import { restoreTransactions } from '../lane/engine/restore.js'
import type { LaneSession } from '../lane/session/laneSession.js'
import type { SpentBefore } from '../lane/signing/feeBudget.js'
import { WINDOWS } from '../lane/signing/spending.js'
import { hasReached } from '../lane/transaction/transaction.js'
import { follow } from '../lane/transaction/transactionEvents.js'
import { feeCap } from '../ledger/fees.js'
import type { BlockRef } from '../ledger/slot.js'
import type { Clock } from '../platform/clock.js'
import { closedWhileOpening } from '../platform/registry.js'
import type { LaneReading } from '../rpc/methods/readLane.js'
import { hasEnded } from '../store/ended.js'
import type { LaneState, Lease, Store, StoredTransaction } from '../types/store.js'
import type { LaneLog } from './laneLog.js'
import type { OpenOptions } from './open.js'

export type RecoverLaneParts = {
  readonly options: OpenOptions
  readonly environment: Environment
  readonly endpointPool: EndpointPool
  readonly store: Store
  readonly session: LaneSession
  readonly log: LaneLog
  readonly admission: Admission
  readonly lease: Lease
  /** Aborted once this process leaves the lane: no endpoint is asked any longer. */
  readonly leaving: AbortSignal
  /** This process was the last owner of the lane, so the records cannot be older than its own knowledge. */
  readonly seen: boolean
  /** Called after the reads: a sender that can sign may join during them. */
  readonly signer: () => LocalAccount | undefined
  readonly leased: () => boolean
  /** The journal found that another process owns the lane. */
  readonly lost: () => void
  /** Called in the turn in which the engine is created, so that no call to the lane falls in between. */
  readonly taken: (engine: Engine) => void
}

/**
 * Recovers the lane from the store and the chain: records, chain, book, engine, in this order, so that no nonce is assigned
 * before all of it is known. The engine that `taken` gets has not begun to follow the chain.
 */
export async function recoverLane(parts: RecoverLaneParts): Promise<void> {
  const ahead = createAhead(parts)
  try {
    const state = await parts.store.load(parts.lease)
    parts.leaving.throwIfAborted()
    await begin(parts, state, await readAccount(parts, ahead), ahead)
  } catch (error) {
    ahead.clock.stop()
    throw parts.leaving.aborted ? closedWhileOpening() : error
  }
}

async function begin(
  parts: RecoverLaneParts,
  state: LaneState,
  { reading, other, balanceWei }: Account,
  ahead: Ahead,
): Promise<void> {
  const { options, environment, endpointPool, store, session, lease, seen } = parts
  const { limits } = options
  const { key } = session
  endpointPool.tracker.onNewestBlock(reading.latest.header)
  const seeded = seedBook(reading, state, { durable: store.durable, seen }, limits.seedSpanMax, other)
  const { book, tokenAbove } = seeded
  const spentBefore = await spentInRecords({ store, clock: ahead.clock, session }, state)
  await learnEnds(parts, new Set(state.transactions.map(({ id }) => id)))
  for (const one of state.transactions) if (!session.transactions.has(one.id)) session.adopt(one)
  const restored = await restoreTransactions(state.transactions, {
    book,
    known: session.transactions,
    learn: (transaction, stored) => follow(session, transaction, stored),
    find: (id) => store.find(key, { id }),
    clock: environment.clock,
  })
  // The engine works by itself from here on, so nothing is awaited until it has started.
  const engine = createEngine({
    environment,
    session,
    admission: parts.admission,
    endpointPool,
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
    finality: options.finality,
    broadcast: options.broadcast ?? 'first',
    simulate: options.simulate ?? false,
    gasMultiplier: options.gasMultiplier ?? 1,
    groups: options.groups,
  })
  engine.accountIs(reading.account)
  const { holds } = engine.context.lane
  if (seeded.storeBehindChain) holds.add('storeBehindChain')
  if (session.paused) holds.add('paused')
  engine.restore(restored)
  if (balanceWei !== undefined) engine.setBalance(balanceWei)
  parts.taken(engine)
}

type Readings = { readonly reading: LaneReading; readonly other: LaneReading }
type Account = Readings & { readonly balanceWei: bigint | undefined }

/** Reads in parallel, because no read depends on another. */
async function readAccount(parts: RecoverLaneParts, ahead: Ahead): Promise<Account> {
  const { endpointPool, session, options, leaving } = parts
  const { readTimeoutMs: timeoutMs } = options.limits
  const balance = () => readBalance(endpointPool, session.key.address, { timeoutMs, signal: leaving })
  const reading = [readTwice(parts), balance()] as const
  ahead.ask()
  const [readings, balanceWei] = await Promise.all(reading)
  return { ...readings, balanceWei: balanceWei ?? (await balance()) }
}

/** The time for the second endpoint once the reader has answered. */
const OTHER_TIMEOUT_MS = 2_000

/**
 * Reads the account from the reader and from a second endpoint. If no other endpoint answers, it reads twice from the reader,
 * whose answers may come from different backends.
 */
async function readTwice({
  environment,
  endpointPool,
  session,
  options,
  leaving: signal,
}: RecoverLaneParts): Promise<Readings> {
  const { address } = session.key
  const { readTimeoutMs, readyTimeoutMs } = options.limits
  const { clock } = environment
  const patience: Patience = {
    clock,
    untilMs: clock.now() + readyTimeoutMs,
    stop: signal,
  }
  const readOnce = () => {
    const { gate, port } = endpointPool.reader
    return readLaneAt(
      endpointPool,
      { gate, port: patientPort(port, patience) },
      { address, timeoutMs: readTimeoutMs, signal },
    )
  }
  const read = () => retryRead(readOnce, patience)
  const [elsewhere] = endpointPool.others()
  const timeoutMs = Math.min(OTHER_TIMEOUT_MS, readTimeoutMs)
  const second =
    elsewhere &&
    readLaneAt(endpointPool, elsewhere, { address, timeoutMs, signal }).catch((): undefined => undefined)
  const [reading, other] = await Promise.all([read(), second ?? read()])
  return { reading, other: other ?? (await read()) }
}

/** Without records, only counts are known of the account, unless no endpoint shows that it ever sent. */
function seedOf(
  { options }: RecoverLaneParts,
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

/** The newest block that is certainly older than the pruned records, if any were pruned. */
function newestMadeAt({ slots }: LaneState): BlockRef | undefined {
  const known = slots.flatMap(({ attempts }) => attempts.flatMap(({ madeAt }) => madeAt ?? []))
  return known.reduce<BlockRef | undefined>(
    (newest, one) => (newest !== undefined && newest.number >= one.number ? newest : one),
    undefined,
  )
}

/** A lane with records knows the nonces from the lowest record on; a lane without records knows only later blocks. */
function historyOf({ reading, other }: Readings, state: LaneState): Seed['history'] {
  if (!hasRecords(state))
    return { block: Math.min(reading.latest.header.number, other.latest.header.number), nonce: 0 }
  return { block: -1, nonce: state.slots.reduce((low, { nonce }) => Math.min(low, nonce), state.cursor ?? 0) }
}

/**
 * A transaction that callers here know and that is not open in the store has ended under another owner, was handed to another
 * lane, or has yet to arrive. From now on only this process can end it.
 */
async function learnEnds({ store, session }: RecoverLaneParts, open: ReadonlySet<string>): Promise<void> {
  for (const transaction of [...session.transactions.values()]) {
    if (open.has(transaction.id)) continue
    const stored = await store.find(session.key, { id: transaction.id })
    if (stored !== undefined && stored.lane.address !== session.key.address) {
      session.handedOff?.add(transaction, stored)
      continue
    }
    if (stored === undefined || !hasEnded(stored.stage)) continue
    follow(session, transaction, stored)
    session.transactions.delete(transaction.id)
  }
}

/** Without an answer the lane begins without a known balance: refusals of the node will show one. */
async function readBalance(
  endpointPool: Pick<EndpointPool, 'reader'>,
  address: Address,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<bigint | undefined> {
  return (await readBalances(endpointPool.reader.port, [address], options))[0]
}

/** One child block of a single sequencer settles a block. */
export function defaultLossDepth(chain: Chain): 'child' | 'safe' {
  return hasSingleSequencer(chain) ? 'child' : 'safe'
}

const DAY_MS = WINDOWS.day * 60_000
const PAGE = 1_000
/** The opening of a lane reads no more records than this. */
const PAGES_MAX = 20

/**
 * The fees that earlier process lives may have spent, for a lane with a fee budget. It counts executed transactions at the
 * time at which they were sent, each with its gas limit at the highest price of its newest attempt. The slots of the lane count
 * their own transactions. Records of transactions do not include no-ops.
 */
async function spentInRecords(
  { store, clock, session }: { readonly store: Store; readonly clock: Clock; readonly session: LaneSession },
  { slots }: Pick<LaneState, 'slots'>,
): Promise<readonly SpentBefore[]> {
  if (session.settings.current.budget === undefined) return []
  const open = new Set(slots.map(({ nonce }) => nonce))
  const nowMs = clock.now()
  const wallMs = clock.wallNow()
  const spent: SpentBefore[] = []
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const found = await store.list([session.key], { limit: PAGE, cursor })
    for (const one of found.items) {
      // If the wall clock was set back since, the record's time is in the future: it counts as spent now.
      const agoMs = Math.max(0, wallMs - one.createdAtMs)
      const isOpen = one.nonce === undefined || open.has(one.nonce)
      if (isOpen || agoMs > DAY_MS || !hasReached(one, 'sealed')) continue
      spent.push({ wei: costOf(one), atMs: nowMs - agoMs })
    }
    cursor = found.cursor
    const oldest = found.items.at(-1)
    if (cursor === undefined || (oldest && wallMs - oldest.createdAtMs > DAY_MS)) break
  }
  return spent
}

function costOf({ gas = 0n, attempts, fees = attempts?.at(-1)?.fees }: StoredTransaction): bigint {
  return fees === undefined ? 0n : gas * feeCap(fees)
}
