import type { Account, Address, Chain, Client, Hash, LocalAccount, Transport } from 'viem'
import { defaultStore, type Environment } from '../../chain/environment.js'
import { type Fate, TxlaneError } from '../../errors/base.js'
import { checkNames } from '../../errors/checkNames.js'
import { withChange } from '../../lane/session/feeSettings.js'
import type { LaneSession } from '../../lane/session/laneSession.js'
import type { AdmissionTarget } from '../../lane/transaction/caller.js'
import { added, type Caller, DEFAULT_TARGET } from '../../lane/transaction/caller.js'
import { printedAs } from '../../lane/transaction/printedAs.js'
import { timedCaller, untilOf } from '../../lane/transaction/timeLimit.js'
import type { Transaction } from '../../lane/transaction/transaction.js'
import { createEarlyListeners, resumeOpened } from '../../ownership/earlyListeners.js'
import type { OpenLane, OpenOptions, openLane } from '../../ownership/open.js'
import { createOpenOnce } from '../../ownership/openOnce.js'
import { whenLoaded } from '../../platform/lazy.js'
import { raceStop, stopOfSignal } from '../../platform/stopSignal.js'
import type {
  FeeChange,
  Item,
  LaneOptions,
  ListOptions,
  RecordPage,
  Sender,
  SendManyOptions,
  SendOptions,
  Tx,
  TxRequest,
} from '../../types/index.js'
import { type ContractCall, contractCall, deployCall } from '../../validate/contracts.js'
import { checkCost } from '../../validate/feeBounds.js'
import { defaultLimits } from '../../validate/limits.js'
import { ownFees, ownOptions, ownRequest } from '../../validate/own.js'
import { errorTxOf } from '../../validate/stageOrder.js'
import {
  checkAccountOf,
  checkRequest,
  checkSendOptions,
  checkSignal,
  object,
} from '../../validate/validate.js'
import { checkKey, checkList, checkResolve, checkSeen, checkSequence } from '../../validate/validateCalls.js'
import { checkFeeChange } from '../../validate/validateFees.js'
import { checkAccount, checkLaneOptions, checkLimits } from '../../validate/validateLane.js'
import type { createRecords, Records } from '../records/records.js'
import { healthOf } from './health.js'
import type { Member } from './member.js'
import { closedError, drainAborted, fateOf, hasEnded, unknownOf } from './senderErrors.js'
import { sendMany } from './sendMany.js'

/** What `createSender` takes, once its types have done their work. */
export type LooseParameters = LaneOptions<Chain> & {
  client: Client<Transport, Chain, Account | undefined>
  account?: LocalAccount | undefined
}

/** `createSender` in a given environment: for simulations. */
export function createSenderIn(environment: Environment, parameters: LooseParameters): Sender {
  return createMemberIn(environment, parameters).sender
}

/** The functions of the runtime that a sender uses. */
type SenderRuntime = { readonly openLane: typeof openLane; readonly createRecords: typeof createRecords }

const senderRuntime = ({ runtime }: Environment) => runtime() as SenderRuntime | Promise<SenderRuntime>

/** Most calls have none: not copied for each. */
const NO_OPTIONS: SendOptions = {}

function withDefaults<options extends SendOptions>(own: options, { order, starved }: SendOptions): options {
  return Object.assign(own, { order: own.order ?? order, starved: own.starved ?? starved })
}

/** `closed` is called once it has closed. */
export function createMemberIn(
  environment: Environment,
  parameters: LooseParameters,
  closed?: () => void,
): Member {
  checkLaneOptions(parameters)
  const account = parameters.account ?? parameters.client.account
  checkAccount(account)
  const { address } = account
  const limits = checkLimits(parameters.limits, defaultLimits)
  const defaults: SendOptions = { order: parameters.order, starved: parameters.starved }
  const options: OpenOptions = {
    ...parameters,
    address,
    signer: account,
    limits,
    given: parameters,
    isClosing: () => closing !== undefined,
    waiting: () => arriving,
  }
  const { chain } = parameters.client
  const { clock } = environment
  const early = createEarlyListeners()
  const opening = createOpenOnce(
    () =>
      whenLoaded(senderRuntime(environment), ({ openLane }) =>
        openLane(options, environment, early.begin).then(attach),
      ),
    environment.clock,
  )
  let opened: OpenLane | undefined
  let closing: Promise<void> | undefined
  // Kept for a lane that is not open yet: it may take more than one try.
  let paused = false
  let feeChange: FeeChange | undefined
  // Those that wait for it to be opened: whoever comes after them waits behind them.
  const arriving = new Map<TxRequest, SendOptions>()
  let relief: LaneSession['rebalancing']
  let records: Records | undefined

  function open(): Promise<OpenLane> {
    return closing ? Promise.reject(closedError()) : opening.open()
  }

  function attach(lane: OpenLane): OpenLane {
    opened = lane
    if (paused) lane.ownership.pause()
    if (feeChange) lane.session.settings.change(feeChange)
    if (relief) lane.session.rebalancing = relief
    early.attach(lane)
    records?.opened(lane)
    return lane
  }

  /** Reads what the store has while no endpoint answers. */
  async function recordsFor(opening: Promise<unknown>): Promise<Records> {
    // Whoever asked waits for it later.
    opening.catch(() => {})
    const { createRecords } = await senderRuntime(environment)
    const store = options.store ?? defaultStore(environment.shared)
    records ??= createRecords({ chain, address, store, clock: environment.clock, open })
    return records
  }

  /** For a transaction that an earlier life may have sent: until its records are read nobody knows. */
  function openFor(id: string | undefined): Promise<OpenLane> {
    // As many turns with an id as without: calls are taken on in their order.
    return open().catch(id === undefined ? asItIs : unknownOf(id))
  }

  /** In the turn of the call where the lane is open. Throws at once what can be said at once. */
  function add(asked: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void {
    const request = ownRequest(asked)
    const sendOptions = options === NO_OPTIONS ? defaults : withDefaults(ownOptions(options), defaults)
    checkRequest(request, chain)
    checkSendOptions(sendOptions)
    checkCost(request, sendOptions, parameters.fees)
    if (sendOptions.signal?.aborted)
      return void abortedBefore(sendOptions.id).then(caller.failed, caller.failed)
    checkAccountOf(request, address)
    const timed = timedCaller(clock, sendOptions, caller, () => arriving.delete(request))
    if (opened && !closing && arriving.size === 0) {
      timed.handOver()
      return opened.ownership.worker.add(request, sendOptions, target, timed.caller)
    }
    arriving.set(request, sendOptions)
    openFor(sendOptions.id)
      .then(
        ({ ownership }) => {
          arriving.delete(request)
          if (timed.isOver) return
          timed.handOver()
          ownership.worker.add(request, sendOptions, target, timed.caller)
        },
        (error: unknown) => {
          arriving.delete(request)
          throw error
        },
      )
      .catch(timed.caller.failed)
  }

  const start: Member['start'] = async (request, sendOptions, to) => {
    const untilMs = untilOf(clock, sendOptions)
    const transaction = await added(add, request, sendOptions, to)
    const { txOf, waiting } = (opened as OpenLane).session
    return { tx: txOf(transaction), accepted: () => waiting.accepted(transaction, untilMs) }
  }

  /** This call sends nothing; an earlier one with the same id may have. */
  async function abortedBefore(id: string | undefined): Promise<TxlaneError> {
    const told = (fate: Fate, tx?: Tx) =>
      new TxlaneError('It was aborted.', { code: 'ABORTED', fate, tx: tx && errorTxOf(tx) })
    if (id === undefined) return told('notExecuted')
    const lane = await openFor(id)
    const known = await lane.find(id)
    if (known === undefined) return told('notExecuted')
    // One that has ended is forgotten as soon as its end is in the store: before that it may come back.
    const ending = hasEnded(known.stage) && lane.session.transactions.has(id)
    return told(ending ? 'inFlight' : fateOf(known.stage), known)
  }

  /** One promise, and no async function: thousands may wait at once. */
  function send(request: TxRequest, sendOptions: SendOptions = NO_OPTIONS): Promise<Tx> {
    const untilQueued = (sendOptions as SendOptions | null)?.until === 'queued'
    const untilMs = untilOf(clock, (sendOptions as SendOptions | null) ?? NO_OPTIONS)
    return new Promise((reached, failed) => {
      const kept = (transaction: Transaction) => {
        const { txOf, waiting } = (opened as OpenLane).session
        if (untilQueued) reached(txOf(transaction))
        else waiting.whenAccepted(transaction, { reached, failed }, untilMs)
      }
      add(request, sendOptions, DEFAULT_TARGET, { kept, failed })
    })
  }

  async function warm(): Promise<OpenLane> {
    const lane = await open()
    await lane.ownership.worker.prefetchFees()
    return lane
  }

  async function sendCall(call: ContractCall, sendOptions: SendOptions | undefined): Promise<Tx> {
    try {
      return await send(call.request, sendOptions)
    } catch (error) {
      throw call.decode(error)
    }
  }

  async function list(listOptions: ListOptions, accounts?: readonly Address[]): Promise<RecordPage> {
    checkList(listOptions)
    const options = { ...listOptions }
    const opening = open()
    if (opened) return (await opening).list(options, accounts)
    return (await recordsFor(opening)).list(options, opening, accounts)
  }

  const sender: Sender = {
    // Read by a getter, so that `console.dir`, which asks nothing how to show it, does not show its URLs.
    get chain() {
      return chain
    },
    address,
    async ready() {
      await warm()
    },
    send,
    writeContract: async (call, sendOptions) => sendCall(contractCall(call, address), sendOptions),
    deployContract: async (call, sendOptions) => sendCall(deployCall(call, address), sendOptions),
    sendMany: (items: Iterable<Item> | AsyncIterable<Item>, manyOptions?: SendManyOptions) =>
      sendMany(start, items, manyOptions, limits.queueMax),
    async sendSequence(requests, sequenceOptions = {}) {
      checkSequence(requests, sequenceOptions)
      const options = withDefaults(ownOptions(sequenceOptions), defaults)
      const own = requests.map(ownRequest)
      for (const request of own) {
        checkRequest(request, chain)
        checkCost(request, options, parameters.fees)
        checkAccountOf(request, address)
      }
      if (options.signal?.aborted) throw await abortedBefore(options.id && `${options.id}/0`)
      const lane = await openFor(options.id)
      return lane.sendSequence(own, options, environment.random)
    },
    async get(by) {
      checkKey(by)
      const own = typeof by === 'string' ? by : { hash: by.hash }
      const key = typeof own === 'string' ? own : own.hash
      const opening = openFor(key)
      if (opened) return (await opening).find(own)
      return (await recordsFor(opening)).find(own, opening).catch(unknownOf(key))
    },
    list: (listOptions = {}) => list(listOptions),
    inFlight: () => opened?.ownership.worker.inFlight().map(opened.session.txOf) ?? [],
    health: () =>
      healthOf({
        address,
        opening,
        lane: opened?.ownership.worker.health(),
        isClosed: closing !== undefined,
      }),
    observe(seen) {
      checkSeen(seen)
      const { hashes, blockNumber } = seen
      opened?.ownership.worker.observe(
        Number(blockNumber),
        hashes.map((hash: Hash) => hash.toLowerCase() as Hash),
      )
    },
    on: (event, listener) => early.on(event, listener as (payload: never) => void),
    async resolve(id, fate) {
      checkResolve(id, fate)
      const { ownership } = await open()
      await ownership.worker.resolve(id, fate)
    },
    async snapshot() {
      const { ownership } = await open()
      return ownership.worker.snapshot()
    },
    async resync() {
      const { ownership } = await open()
      await ownership.worker.resync()
    },
    pause() {
      paused = true
      // At once where it can be: a send that is called next must find the lane held.
      if (opened) opened.ownership.pause()
      else void open().catch(() => {})
    },
    resume() {
      paused = false
      const { heard } = early
      if (!opened)
        return void open().then(
          (lane) => paused || resumeOpened(lane, heard),
          () => {},
        )
      opened.ownership.resume()
    },
    setFees(change) {
      checkFeeChange(change, parameters.fees)
      const own = ownFees(change)
      if (opened) opened.session.settings.change(own)
      else feeChange = withChange(feeChange ?? {}, own)
    },
    async drain(drainOptions = {}) {
      const { signal } = object('options', drainOptions) as typeof drainOptions
      checkNames('options', drainOptions, { signal: true })
      checkSignal('signal', signal)
      await raceStop(drained(await open()), [stopOfSignal(signal, drainAborted)])
    },
    close() {
      closing ??= close()
      return closing
    },
    [Symbol.asyncDispose]: () => sender.close(),
  }
  printedAs(sender, () => ({ chainId: chain.id, address }))
  return {
    sender,
    start,
    runtime: async () => environment.runtime(),
    warm,
    list,
    rebalanceBy(by) {
      relief = by
      if (opened) opened.session.rebalancing = by
    },
    lane: () =>
      opened && { key: opened.key, worker: opened.ownership.worker, reports: opened.ownership.reports },
    room() {
      if (opened === undefined) return limits.window
      return opened.ownership.worker.room
    },
    load: () => opened?.ownership.worker.load ?? 0,
    counts: () => opened?.ownership.worker.counts,
    holds: () => opened?.ownership.worker.holds ?? [],
    live: (by) => opened?.live(by),
    clock,
    background: environment.background ?? clock,
    opened: () => opened !== undefined,
    closed: () => closing !== undefined,
  }

  async function close(): Promise<void> {
    const lane = await opening.close(closedError)
    if (lane && lane.session.rebalancing === relief) lane.session.rebalancing = undefined
    try {
      await lane?.release(lane.ownership.close)
    } finally {
      early.detach()
      closed?.()
    }
  }
}

function asItIs(error: unknown): never {
  throw error
}

/** However often the lane changes hands until then. */
async function drained({ ownership }: OpenLane): Promise<void> {
  while (!(await ownership.worker.drained())) {}
}
