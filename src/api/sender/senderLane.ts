import { defaultStore, type Environment } from '../../chain/environment.js'
import { TxlaneError } from '../../errors/base.js'
import { closedLaneError } from '../../lane/session/closedError.js'
import { withChange } from '../../lane/session/feeSettings.js'
import type { LaneSession } from '../../lane/session/laneSession.js'
import { createEarlyListeners, resumeOpened } from '../../ownership/earlyListeners.js'
import type { OpenLane, OpenOptions, openLane } from '../../ownership/open.js'
import { createOpenOnce, type OpenOnce } from '../../ownership/openOnce.js'
import { whenLoaded } from '../../platform/lazy.js'
import { raceAbort } from '../../platform/onAbort.js'
import type { FeeChange, Sender, SendOptions, TxRequest } from '../../types/index.js'
import type { createRecords, Records } from '../records/records.js'

/** The functions of the runtime that a sender uses. */
type SenderRuntime = { readonly openLane: typeof openLane; readonly createRecords: typeof createRecords }

const senderRuntime = ({ runtime }: Environment) => runtime() as SenderRuntime | Promise<SenderRuntime>

/** The lane of one sender: the first call that needs it opens it, and settings wait until it is open. */
export type SenderLane = {
  /** Undefined before the lane is open. */
  readonly opened: OpenLane | undefined
  readonly isClosed: boolean
  /** Settles like the promise, or rejects with `CLOSED` once the sender has closed. */
  untilClosed<T>(promise: Promise<T>): Promise<T>
  readonly opening: Pick<OpenOnce<OpenLane>, 'failed'>
  /** The requests that wait for the lane. Calls that come later wait behind them. */
  readonly arriving: Map<TxRequest, SendOptions>
  readonly on: ReturnType<typeof createEarlyListeners>['on']
  open(): Promise<OpenLane>
  /**
   * Opens the lane for a transaction that an earlier process life may have sent. If that fails, the fate of the
   * transaction is unknown until its records were read.
   */
  openFor(id: string | undefined): Promise<OpenLane>
  /** Reads the records in the store while no endpoint answers. */
  recordsFor(opening: Promise<unknown>): Promise<Records>
  pause(): void
  resume(): void
  setFees: Sender['setFees']
  rebalanceBy(by: NonNullable<LaneSession['rebalancing']>): void
  close(): Promise<void>
}

/** `closed` is called once the lane is closed for this sender. */
export function createSenderLane(parts: {
  readonly environment: Environment
  readonly options: Omit<OpenOptions, 'closing' | 'waiting'>
  readonly closed: (() => void) | undefined
}): SenderLane {
  const { environment } = parts
  const arriving = new Map<TxRequest, SendOptions>()
  const closing = new AbortController()
  const ended = new AbortController()
  const options: OpenOptions = { ...parts.options, closing: closing.signal, waiting: () => arriving }
  const early = createEarlyListeners()
  const opening = createOpenOnce(
    () =>
      whenLoaded(senderRuntime(environment), ({ openLane }) =>
        openLane(options, environment, early.begin).then(attach),
      ),
    environment.clock,
  )
  let opened: OpenLane | undefined
  let closed: Promise<void> | undefined
  // These settings wait for the lane, which may take more than one try to open.
  let paused = false
  let feeChange: FeeChange | undefined
  let rebalancing: LaneSession['rebalancing']
  let records: Records | undefined

  function open(): Promise<OpenLane> {
    return closing.signal.aborted ? Promise.reject(closedError()) : opening.open()
  }

  function attach(lane: OpenLane): OpenLane {
    opened = lane
    if (paused) lane.ownership.pause()
    if (feeChange) lane.session.settings.change(feeChange)
    if (rebalancing) lane.session.rebalancing = rebalancing
    early.attach(lane)
    records?.opened(lane)
    return lane
  }

  async function close(): Promise<void> {
    const lane = await opening.close(closedError)
    if (lane && lane.session.rebalancing === rebalancing) lane.session.rebalancing = undefined
    try {
      await lane?.release(lane.ownership.close)
    } finally {
      early.detach()
      // Other users of the lane may go on.
      ended.abort(closedLaneError())
      parts.closed?.()
    }
  }

  return {
    get opened() {
      return opened
    },
    get isClosed() {
      return closing.signal.aborted
    },
    untilClosed: (promise) => raceAbort(promise, [ended.signal]),
    opening,
    arriving,
    on: early.on,
    open,
    openFor(id) {
      // With and without an id the promise takes the same number of turns: calls keep their order.
      return open().catch(id === undefined ? rethrow : unknownOf(id))
    },
    async recordsFor(opening) {
      // The caller awaits this promise later.
      opening.catch(() => {})
      const { createRecords } = await senderRuntime(environment)
      const { address, client } = options
      const store = options.store ?? defaultStore(environment.shared)
      records ??= createRecords({ chain: client.chain, address, store, clock: environment.clock, open })
      return records
    },
    pause() {
      paused = true
      // In this turn if possible: the next call of `send` must find the lane held.
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
      if (opened) opened.session.settings.change(change)
      else feeChange = withChange(feeChange ?? {}, change)
    },
    rebalanceBy(by) {
      rebalancing = by
      if (opened) opened.session.rebalancing = by
    },
    close() {
      closing.abort()
      closed ??= close()
      return closed
    },
  }
}

function rethrow(error: unknown): never {
  throw error
}

function closedError(): TxlaneError {
  return new TxlaneError('The sender is closed.', { code: 'CLOSED', fate: 'notExecuted' })
}

/** Throws the same error, with the fate `inFlight` and a line that says that an earlier send of the id is possible. */
export function unknownOf(id: string): (error: unknown) => never {
  const line = `Whether ${id} was sent before is not known: its records could not be read.`
  return (error) => {
    if (!(error instanceof TxlaneError) || error.metaMessages?.includes(line)) throw error
    const { code, shortMessage } = error
    throw new TxlaneError(shortMessage, { code, fate: 'inFlight', cause: error, metaMessages: [line] })
  }
}
