import type { Chain } from 'viem'
import { type Fate, TxlaneError } from '../../errors/base.js'
import {
  type AdmissionTarget,
  added,
  type Caller,
  DEFAULT_TARGET,
  timedCaller,
  untilOf,
} from '../../lane/transaction/caller.js'
import type { Transaction } from '../../lane/transaction/transaction.js'
import type { OpenLane, OpenOptions } from '../../ownership/open.js'
import type { Clock, Random } from '../../platform/clock.js'
import { hasEndedUnexecuted } from '../../store/ended.js'
import type { Sender, SendOptions, Stage, Tx, TxRequest } from '../../types/index.js'
import { ownOptions, ownRequest } from '../../validate/own.js'
import { errorTxOf } from '../../validate/stageOrder.js'
import { checkAccountOf, checkRequest, checkSendOptions } from '../../validate/validate.js'
import { checkSequence } from '../../validate/validateCalls.js'
import { checkCost } from '../../validate/validateFees.js'
import type { Member } from './member.js'
import type { SenderLane } from './senderLane.js'

/** The calls of a sender that add transactions to its lane. */
export type Sends = Pick<Sender, 'send' | 'sendSequence'> & Pick<Member, 'start'>

/** Most calls have no options: they share this object instead of a copy for each. */
const NO_OPTIONS: SendOptions = {}

export function createSends(parts: {
  readonly lane: SenderLane
  readonly clock: Clock
  readonly random: Random
  readonly options: Pick<OpenOptions, 'address' | 'client' | 'fees'>
  /** The options of the sender. They replace options that a call leaves out. */
  readonly defaults: SendOptions
}): Sends {
  const { lane, clock, defaults } = parts
  const { address, client, fees } = parts.options
  const chain: Chain = client.chain

  function check(request: TxRequest, options: SendOptions): void {
    checkRequest(request, chain)
    checkCost(request, options, fees)
    checkAccountOf(request, address)
  }

  /** Adds in the same turn if the lane is open. Throws errors that are certain without the lane. */
  function add(asked: TxRequest, options: SendOptions, target: AdmissionTarget, caller: Caller): void {
    const request = ownRequest(asked)
    const sendOptions = options === NO_OPTIONS ? defaults : withDefaults(ownOptions(options), defaults)
    checkRequest(request, chain)
    checkSendOptions(sendOptions)
    checkCost(request, sendOptions, fees)
    if (sendOptions.signal?.aborted)
      return void abortedBefore(sendOptions.id).then(caller.failed, caller.failed)
    checkAccountOf(request, address)
    const timed = timedCaller(clock, sendOptions, caller, () => lane.arriving.delete(request))
    if (lane.opened && !lane.isClosed && lane.arriving.size === 0) {
      timed.handOver()
      return lane.opened.ownership.worker.add(request, sendOptions, target, timed.caller)
    }
    lane.arriving.set(request, sendOptions)
    lane
      .openFor(sendOptions.id)
      .then(
        ({ ownership }) => {
          lane.arriving.delete(request)
          if (timed.isOver) return
          timed.handOver()
          ownership.worker.add(request, sendOptions, target, timed.caller)
        },
        (error: unknown) => {
          lane.arriving.delete(request)
          throw error
        },
      )
      .catch(timed.caller.failed)
  }

  /** This call sends nothing, but an earlier call with the same id may have sent the transaction. */
  async function abortedBefore(id: string | undefined): Promise<TxlaneError> {
    const aborted = (fate: Fate, tx?: Tx) =>
      new TxlaneError('It was aborted.', { code: 'ABORTED', fate, tx: tx && errorTxOf(tx) })
    if (id === undefined) return aborted('notExecuted')
    const opened = await lane.openFor(id)
    const known = await opened.find(id)
    if (known === undefined) return aborted('notExecuted')
    // The lane forgets an ended transaction once its end is in the store. Before that a crash may undo the end.
    const isEnding = hasEndedUnexecuted(known.stage) && opened.session.transactions.has(id)
    return aborted(isEnding ? 'inFlight' : fateOf(known.stage), known)
  }

  return {
    async start(request, sendOptions, to) {
      const untilMs = untilOf(clock, sendOptions)
      const transaction = await added(add, request, sendOptions, to)
      const { txOf, waiting } = (lane.opened as OpenLane).session
      return { tx: txOf(transaction), accepted: () => waiting.accepted(transaction, untilMs) }
    },
    /** One promise and no async function, because thousands of calls may wait at once. */
    send(request, sendOptions = NO_OPTIONS) {
      const untilQueued = (sendOptions as SendOptions | null)?.until === 'queued'
      const untilMs = untilOf(clock, (sendOptions as SendOptions | null) ?? NO_OPTIONS)
      return new Promise((reached, failed) => {
        const persisted = (transaction: Transaction) => {
          const { txOf, waiting } = (lane.opened as OpenLane).session
          if (untilQueued) reached(txOf(transaction))
          else waiting.whenAccepted(transaction, { reached, failed }, untilMs)
        }
        add(request, sendOptions, DEFAULT_TARGET, { persisted, failed })
      })
    },
    async sendSequence(requests, sequenceOptions = {}) {
      checkSequence(requests, sequenceOptions)
      const options = withDefaults(ownOptions(sequenceOptions), defaults)
      const own = requests.map(ownRequest)
      for (const request of own) check(request, options)
      if (options.signal?.aborted) throw await abortedBefore(options.id && `${options.id}/0`)
      const opened = await lane.openFor(options.id)
      return opened.sendSequence(own, options, parts.random)
    },
  }
}

function withDefaults<options extends SendOptions>(own: options, { order, starved }: SendOptions): options {
  return Object.assign(own, { order: own.order ?? order, starved: own.starved ?? starved })
}

function fateOf(stage: Stage): Fate {
  if (hasEndedUnexecuted(stage)) return 'notExecuted'
  return stage === 'sealed' || stage === 'safe' || stage === 'finalized' ? 'executed' : 'inFlight'
}
