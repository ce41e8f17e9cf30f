import type { Account, Address, Chain, Client, Hash, LocalAccount, Transport } from 'viem'
import type { Environment } from '../../chain/environment.js'
import { isTxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { AdmissionTarget } from '../../lane/transaction/caller.js'
import { printedAs } from '../../lane/transaction/printedAs.js'
import { type TimeLimit, timeLimit } from '../../lane/transaction/timeLimit.js'
import { transactionOf } from '../../lane/transaction/txInternals.js'
import type { Clock } from '../../platform/clock.js'
import type {
  HealthReason,
  Item,
  LaneOptions,
  Sender,
  SendManyOptions,
  SendOptions,
  SequenceOptions,
  Tx,
  TxRequest,
} from '../../types/index.js'
import { type ContractCall, contractCall, deployCall } from '../../validate/contracts.js'
import { ownOptions, ownRequest } from '../../validate/own.js'
import { unsupported } from '../../validate/validate.js'
import { checkSequence } from '../../validate/validateCalls.js'
import { healthOfAll } from '../sender/health.js'
import type { Member } from '../sender/member.js'
import { createMemberIn } from '../sender/sender.js'
import { type Start, sendMany } from '../sender/sendMany.js'
import { type AccountsOf, createAccounts, type MakeMember } from './accounts.js'
import { createMembers } from './members.js'
import { createPayments } from './payments.js'
import { poolRuntime } from './poolRuntime.js'
import { checkTreasury, type TreasuryOptions, type TreasuryPolicy } from './treasuryOptions.js'

/**
 * Several accounts behind one sender. Each transaction goes to the account with the least under way; which one it was is
 * told by its record's `from`, and by the sealed receipt's.
 */
export type SenderPool<chain extends Chain = Chain> = Sender<chain> & AccountsOf<chain>

/** What `createSenderPool` takes. */
export type SenderPoolParameters<chain extends Chain> = LaneOptions<chain> & {
  /** A viem client with a chain. Its transport is the first endpoint; an account in it is not used. */
  client: Client<Transport, chain, Account | undefined>
  /** At least one; each once. */
  accounts: readonly LocalAccount[]
  /** Keeps the accounts between two balances. @default nobody pays them */
  treasury?: TreasuryOptions | undefined
}

/** `createSenderPool` in a given environment. */
export function createSenderPoolIn(
  environment: Environment,
  parameters: SenderPoolParameters<Chain>,
): SenderPool {
  const { accounts, treasury, ...options } = parameters
  checkAccounts(accounts)
  checkTreasury(treasury, accounts)
  const make = (account: LocalAccount) => createMemberIn(environment, { ...options, account })
  return createPool(accounts.map(make), {
    starved: options.starved,
    make,
    treasury: treasury && { member: make(treasury.account), options: treasury },
  })
}

export function checkAccounts(accounts: readonly LocalAccount[]): void {
  if (!Array.isArray(accounts) || accounts.length === 0)
    throw invalid('accounts', accounts, 'at least one local account')
  const seen = new Set<string>()
  for (const [index, account] of accounts.entries()) {
    const address = String((account as { address?: unknown } | undefined)?.address).toLowerCase()
    if (seen.has(address)) throw invalid(`accounts[${index}]`, address, 'each account once')
    seen.add(address)
  }
}

/**
 * The pool over senders that are there already. `starved`: for every transaction that names none itself. `make`: the
 * sender of one more account.
 */
export function createPool(
  given: readonly Member[],
  options: {
    readonly starved?: LaneOptions<Chain>['starved']
    readonly make: MakeMember
    readonly treasury?: { readonly member: Member; readonly options: TreasuryPolicy } | undefined
  },
): SenderPool {
  const { starved = 'fail', make } = options
  const members = createMembers(given, options.treasury?.options.upTo)
  const accounts = createAccounts(members, make)
  const payments =
    options.treasury &&
    createPayments({
      ...options.treasury,
      addresses: () => members.taking.map(({ sender }) => sender.address.toLowerCase() as Address),
    })
  if (payments) accounts.on('held', ({ reason }) => reason === 'starved' && payments.look())
  // Ids on their way into a lane: the second send of one id at the same time has to go the same way.
  const routes = new Map<string, Promise<Member>>()
  // By id: what `after` names may be no further yet.
  const arriving = new Map<string, ReturnType<Start>>()
  let unready: readonly HealthReason[] = []

  /** It answers for all: every one of them reads the same store. */
  const first = (): Sender => accounts.senders[0] as Sender

  /** The account that a request names. One that is retired takes nothing but what it has already. */
  async function takerOf(address: string, id: string | undefined): Promise<Member> {
    const found = members.find(address)
    if (found && members.taking.includes(found)) return found
    if (found && id !== undefined && (await memberThatKnows(id)) === found) return found
    throw invalid('request.account', address, 'an account that the pool has, and does not retire')
  }

  function route(
    request: unknown,
    id: string | undefined,
    { affinity, again }: Pick<SendOptions, 'affinity' | 'again'>,
  ): Promise<Member> {
    const named = accountOf(request)
    if (named !== undefined) return takerOf(named, id)
    const choose = () => (typeof affinity === 'string' ? members.nearest(affinity) : members.freest())
    // Beside the id, and for all calls of that time.
    const reports = members.fresh()
    if (id === undefined) return reports === undefined ? Promise.resolve(choose()) : reports.then(choose)
    const known = routes.get(id)
    if (known) return known
    // What begins anew does so at an account that takes something; what does not is where it was.
    const takes = (member: Member) => again !== true || members.taking.includes(member)
    const found = Promise.all([memberThatKnows(id), reports]).then(([member]) =>
      member && takes(member) ? member : choose(),
    )
    routes.set(id, found)
    return found
  }

  /** The one whose transaction it is. An account that the pool does not have any more is none of them. */
  async function memberThatKnows(id: string): Promise<Member | undefined> {
    const address = transactionOf(await get(id))?.lane.address
    return members.find(address)
  }

  const start: Start = async (asked, sendOptions) => {
    const request = ownRequest(asked)
    const options = ownOptions(sendOptions)
    options.starved ??= starved
    const { id, affinity, again } = options
    const given = Array.isArray(options.after) ? resolved(options) : Promise.resolve(options)
    const limit = timeLimit(members.all[0]?.clock as Clock, options)
    const begun = limit.untilBegun(begin(request, given, { id, affinity, again, limit }))
    if (typeof id !== 'string' || arriving.has(id)) return begun
    arriving.set(id, begun)
    return begun.finally(() => arriving.delete(id))
  }

  async function begin(
    request: TxRequest,
    given: Promise<SendOptions>,
    { id, limit, ...way }: Pick<SendOptions, 'id' | 'affinity' | 'again'> & { readonly limit: TimeLimit },
  ): ReturnType<Start> {
    payments?.start()
    try {
      // First: what was named is waited for, and a route is chosen by the room that there is after that.
      const options = await given
      const member = await route(request, typeof id === 'string' ? id : undefined, way)
      try {
        return await startIn(member, request, limit.left(options))
      } catch (error) {
        const other = await takenElsewhere(error, request, id)
        if (other === undefined || other === member) throw error
        return await startIn(other, request, limit.left(options))
      }
    } finally {
      // It is in the store now, or nowhere.
      if (id !== undefined) routes.delete(id)
    }
  }

  function startIn(member: Member, request: TxRequest, options: SendOptions): ReturnType<Start> {
    const target: AdmissionTarget = accountOf(request) === undefined ? { pooled: true } : {}
    return members.starting(member, () => member.start(request, options, target))
  }

  /**
   * Another process sent the same id at the same moment, from another account: what was asked for there may well be
   * what is asked for here, and that lane can tell.
   */
  async function takenElsewhere(
    error: unknown,
    request: unknown,
    id: string | undefined,
  ): Promise<Member | undefined> {
    if (!isTxlaneError(error) || error.code !== 'ID_CONFLICT') return undefined
    return id === undefined || accountOf(request) !== undefined ? undefined : memberThatKnows(id)
  }

  /**
   * An id names a transaction of any lane of the pool, as it is known there. Those that are on their way into a lane
   * when this is called are waited for, and no others: none can wait for itself.
   */
  async function resolved<options extends SendOptions | SequenceOptions>(options: options): Promise<options> {
    const { after = [] } = options
    const known = async (id: string): Promise<string | Tx> => {
      const begun = await arriving.get(id)?.catch(() => undefined)
      return begun?.tx ?? (await get(id)) ?? id
    }
    return {
      ...options,
      after: await Promise.all(after.map((one) => (typeof one === 'string' ? known(one) : one))),
    } as options
  }

  async function sendSequence(
    requests: readonly TxRequest[],
    sequenceOptions: SequenceOptions = {},
  ): Promise<readonly Tx[]> {
    checkSequence(requests, sequenceOptions)
    const options = ownOptions(sequenceOptions)
    options.starved ??= starved
    const own = requests.map(ownRequest)
    const { id, affinity, again } = options
    const given = options.after === undefined ? options : await resolved(options)
    const named = own.find((request) => accountOf(request) !== undefined)
    const member = await route(named, id === undefined ? undefined : `${id}/0`, { affinity, again })
    try {
      return await members.starting(member, () => member.sender.sendSequence(own, given))
    } finally {
      if (id !== undefined) routes.delete(`${id}/0`)
    }
  }

  async function send(request: TxRequest, options: SendOptions = {}): Promise<Tx> {
    const untilQueued = (options as SendOptions | null)?.until === 'queued'
    const { tx, accepted } = await start(request, options)
    if (!untilQueued) await accepted()
    return tx
  }

  async function sendCall(call: ContractCall, options: SendOptions | undefined): Promise<Tx> {
    try {
      return await send(call.request, options)
    } catch (error) {
      throw call.decode(error)
    }
  }

  async function get(by: string | { hash: Hash }): Promise<Tx | undefined> {
    for (const member of members.all) {
      const live = member.live(by)
      if (live) return live
    }
    // Whoever is asked: its store answers for all accounts of the chain.
    return first().get(by)
  }

  async function all(work: (sender: Sender) => Promise<void>): Promise<void> {
    await Promise.all(members.all.map(({ sender }) => work(sender)))
  }

  const pool: SenderPool = {
    get senders() {
      return accounts.senders
    },
    treasury: options.treasury?.member.sender,
    get chain() {
      return first().chain
    },
    get address() {
      return first().address
    },
    add: accounts.add,
    retire: accounts.retire,
    pause: accounts.pause,
    resume: accounts.resume,
    setFees: accounts.setFees,
    async ready() {
      payments?.start()
      const lanes = await Promise.all(members.serving.map((member) => member.warm()))
      const { findUnready } = await poolRuntime(members.serving[0] as Member)
      unready = await findUnready(lanes)
    },
    send,
    writeContract: async (call, options) => sendCall(withAccount(call, contractCall), options),
    deployContract: async (call, options) => sendCall(withAccount(call, deployCall), options),
    sendMany: (items: Iterable<Item> | AsyncIterable<Item>, options?: SendManyOptions) =>
      sendMany(start, items, options),
    sendSequence,
    get,
    async list(options = {}) {
      // Whoever is asked: its store answers for all accounts of the chain.
      const [any] = members.all
      const addresses = members.all.map(({ sender }) => sender.address)
      return (members.serving[0] ?? (any as Member)).list(options, addresses)
    },
    inFlight: () => members.all.flatMap(({ sender }) => sender.inFlight()),
    health: () => healthOfAll(members.all.map(healthOf), members.taking.map(healthOf), unready),
    observe(seen) {
      for (const { sender } of members.all) sender.observe(seen)
    },
    on: accounts.on,
    async resolve(id, fate) {
      const member = await memberThatKnows(id)
      await (member?.sender ?? first()).resolve(id, fate)
    },
    snapshot: () => Promise.reject(unsupported('snapshot() of a pool', 'ask each of its senders')),
    resync: () => all((sender) => sender.resync()),
    drain: (options) => all((sender) => sender.drain(options)),
    async close() {
      payments?.stop()
      await Promise.all([accounts.close(), options.treasury?.member.sender.close()])
    },
    [Symbol.asyncDispose]: () => pool.close(),
  }
  return printedAs(pool, () => ({
    chainId: pool.chain.id,
    addresses: accounts.senders.map(({ address }) => address),
  }))

  /** What the ABI tells is the same for every account; the one that is named is kept for the choice of the lane. */
  function withAccount(
    call: unknown,
    encode: (call: unknown, sender: Sender['address']) => ContractCall,
  ): ContractCall {
    const named = accountOf(call)
    const { request, decode } = encode(
      call,
      named === undefined ? pool.address : members.of(named, 'request.account').sender.address,
    )
    return {
      request: { ...request, ...(named === undefined ? {} : { account: named }) } as TxRequest,
      decode,
    }
  }
}

const healthOf = ({ sender }: Member) => sender.health()

function accountOf(request: unknown): string | undefined {
  const { account, from } = (request ?? {}) as { account?: unknown; from?: unknown }
  const given =
    typeof account === 'object' && account !== null ? (account as { address?: unknown }).address : account
  const named = given ?? from
  return typeof named === 'string' ? named : undefined
}
