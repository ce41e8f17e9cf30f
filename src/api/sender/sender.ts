import type { Account, Address, Chain, Client, Hash, LocalAccount, Transport } from 'viem'
import type { Environment } from '../../chain/environment.js'
import { TxlaneError } from '../../errors/base.js'
import { checkNames } from '../../errors/checkNames.js'
import { closedLaneError } from '../../lane/session/closedError.js'
import { printedAs } from '../../lane/transaction/printedAs.js'
import type { OpenLane } from '../../ownership/open.js'
import { raceAbort } from '../../platform/onAbort.js'
import type {
  Item,
  LaneOptions,
  ListOptions,
  RecordPage,
  Sender,
  SendManyOptions,
  SendOptions,
  Tx,
} from '../../types/index.js'
import { type ContractCall, contractCall, deployCall } from '../../validate/contracts.js'
import { ownFees } from '../../validate/own.js'
import { checkSignal, object } from '../../validate/validate.js'
import { checkKey, checkList, checkResolve, checkSeen } from '../../validate/validateCalls.js'
import { checkFeeChange } from '../../validate/validateFees.js'
import { checkAccount, checkLaneOptions, checkLimits, defaultLimits } from '../../validate/validateLane.js'
import { healthOf } from './health.js'
import type { Member } from './member.js'
import { createSenderLane, type SenderLane, unknownOf } from './senderLane.js'
import { sendMany } from './sendMany.js'
import { createSends, type Sends } from './sends.js'

/** The parameters of `createSender`, with the types that the implementation uses. */
export type LooseParameters = LaneOptions<Chain> & {
  client: Client<Transport, Chain, Account | undefined>
  account?: LocalAccount | undefined
}

/** `createSender` in a given environment, for simulations. */
export function createSenderIn(environment: Environment, parameters: LooseParameters): Sender {
  return createMemberIn(environment, parameters).sender
}

/** Creates a sender with its internals. `closed` is called once the sender has closed. */
export function createMemberIn(
  environment: Environment,
  parameters: LooseParameters,
  closed?: () => void,
): Member {
  checkLaneOptions(parameters)
  const account = parameters.account ?? parameters.client.account
  checkAccount(account)
  const limits = checkLimits(parameters.limits, defaultLimits)
  const options = { ...parameters, address: account.address, signer: account, limits, given: parameters }
  const { clock, random, background = clock } = environment
  const lane = createSenderLane({ environment, options, closed })
  const defaults: SendOptions = { order: parameters.order, starved: parameters.starved }
  const sends = createSends({ lane, clock, random, options, defaults })

  async function warm(): Promise<OpenLane> {
    const opened = await lane.open()
    await lane.untilClosed(opened.ownership.worker.prefetchFees())
    if (lane.isClosed) throw closedLaneError()
    return opened
  }

  async function list(listOptions: ListOptions, accounts?: readonly Address[]): Promise<RecordPage> {
    checkList(listOptions)
    const own = { ...listOptions }
    const opening = lane.open()
    if (lane.opened) return (await opening).list(own, accounts)
    return (await lane.recordsFor(opening)).list(own, opening, accounts)
  }

  return {
    sender: createPublicSender({ lane, sends, warm, list, options }),
    start: sends.start,
    runtime: async () => environment.runtime(),
    warm,
    list,
    rebalanceBy: lane.rebalanceBy,
    lane: () => lane.opened && memberLane(lane.opened),
    room: () => (lane.opened === undefined ? limits.window : lane.opened.ownership.worker.room),
    load: () => lane.opened?.ownership.worker.load ?? 0,
    counts: () => lane.opened?.ownership.worker.counts,
    holds: () => lane.opened?.ownership.worker.holds ?? [],
    live: (by) => lane.opened?.live(by),
    clock,
    background,
    opened: () => lane.opened !== undefined,
    closed: () => lane.isClosed,
  }
}

const memberLane = ({ key, ownership: { worker, reports } }: OpenLane) => ({ key, worker, reports })

/** The public object. */
function createPublicSender(parts: {
  readonly lane: SenderLane
  readonly sends: Sends
  readonly warm: Member['warm']
  readonly list: (options: ListOptions, accounts?: readonly Address[]) => Promise<RecordPage>
  readonly options: LooseParameters & {
    readonly address: Address
    readonly limits: { readonly queueMax: number }
  }
}): Sender {
  const { lane, sends, options } = parts
  const { address, client } = options

  async function sendCall(call: ContractCall, sendOptions: SendOptions | undefined): Promise<Tx> {
    try {
      return await sends.send(call.request, sendOptions)
    } catch (error) {
      throw call.decode(error)
    }
  }

  const sender: Sender = {
    // A getter, so that `console.dir`, which ignores `util.inspect.custom`, does not show the URLs of the chain.
    get chain() {
      return client.chain
    },
    address,
    async ready() {
      await parts.warm()
    },
    send: sends.send,
    writeContract: async (call, sendOptions) => sendCall(contractCall(call, address), sendOptions),
    deployContract: async (call, sendOptions) => sendCall(deployCall(call, address), sendOptions),
    sendMany: (items: Iterable<Item> | AsyncIterable<Item>, manyOptions?: SendManyOptions) =>
      sendMany(sends.start, items, manyOptions, options.limits.queueMax),
    sendSequence: sends.sendSequence,
    async get(by) {
      checkKey(by)
      const own = typeof by === 'string' ? by : { hash: by.hash }
      const key = typeof own === 'string' ? own : own.hash
      const opening = lane.openFor(key)
      if (lane.opened) return (await opening).find(own)
      return (await lane.recordsFor(opening)).find(own, opening).catch(unknownOf(key))
    },
    list: (listOptions = {}) => parts.list(listOptions),
    inFlight: () => lane.opened?.ownership.worker.inFlight().map(lane.opened.session.txOf) ?? [],
    health: () =>
      healthOf({
        address,
        opening: lane.opening,
        lane: lane.opened?.ownership.worker.health(),
        isClosed: lane.isClosed,
      }),
    observe(seen) {
      checkSeen(seen)
      const { hashes, blockNumber } = seen
      lane.opened?.ownership.worker.observe(
        Number(blockNumber),
        hashes.map((hash: Hash) => hash.toLowerCase() as Hash),
      )
    },
    on: (event, listener) => lane.on(event, listener as (payload: never) => void),
    async resolve(id, fate) {
      checkResolve(id, fate)
      const { ownership } = await lane.open()
      await ownership.worker.resolve(id, fate)
    },
    async snapshot() {
      const { ownership } = await lane.open()
      return lane.untilClosed(ownership.worker.snapshot())
    },
    async resync() {
      const { ownership } = await lane.open()
      await lane.untilClosed(ownership.worker.resync())
    },
    pause: lane.pause,
    resume: lane.resume,
    setFees(change) {
      checkFeeChange(change, options.fees)
      lane.setFees(ownFees(change))
    },
    async drain(drainOptions = {}) {
      const { signal } = object('options', drainOptions) as typeof drainOptions
      checkNames('options', drainOptions, { signal: true })
      checkSignal('signal', signal)
      await raceAbort(lane.untilClosed(drained(await lane.open())), [signal], drainAborted)
    },
    close: lane.close,
    [Symbol.asyncDispose]: () => sender.close(),
  }
  return printedAs(sender, () => ({ chainId: client.chain.id, address }))
}

/** Waits until the lane has drained, also if the lane changes its owner meanwhile. */
async function drained({ ownership }: OpenLane): Promise<void> {
  while (!(await ownership.worker.drained())) {}
}

function drainAborted(): TxlaneError {
  return new TxlaneError('The drain was aborted; the lane goes on.', { code: 'ABORTED', fate: 'inFlight' })
}
