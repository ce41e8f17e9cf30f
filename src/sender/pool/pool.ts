import type { Account, Chain, Client, Hash, LocalAccount, Transport } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type {
  HoldReason,
  Item,
  LaneOptions,
  Sender,
  SendManyOptions,
  SendOptions,
  SequenceOptions,
  Tx,
  TxRequest,
} from '../../types.js'
import { type Environment, systemEnvironment } from '../environment.js'
import { type ContractCall, contractCall, deployCall } from '../input/contracts.js'
import { ownOptions, ownRequest } from '../input/own.js'
import { unsupported } from '../input/validate.js'
import { checkSequence } from '../input/validateCalls.js'
import type { PlaceFor } from '../lane/handle.js'
import { printedAs } from '../printedAs.js'
import { createMemberIn, type Member } from '../sender.js'
import { type Start, sendMany } from '../sendMany.js'
import { transactionOf } from '../transaction/words.js'
import { nearestTo } from './affinity.js'
import { listAll } from './listAll.js'

/**
 * Several accounts behind one sender. Each transaction goes to the account with the least under way; which one it was is
 * told by its record's `from`, and by the sealed receipt's.
 */
export type SenderPool<chain extends Chain = Chain> = Sender<chain> & {
  /** One for each account, in the order given. */
  readonly senders: readonly Sender<chain>[]
}

/** What `createSenderPool` takes. */
export type SenderPoolParameters<chain extends Chain> = LaneOptions<chain> & {
  /** A viem client with a chain. Its transport is the first endpoint; an account in it is not used. */
  client: Client<Transport, chain, Account | undefined>
  /** At least one; each once. */
  accounts: readonly LocalAccount[]
}

/**
 * Sends from several accounts of one chain: as many lanes, each with its own nonces.
 *
 * - A request that names an `account` goes to that one. An `id` that is known is the transaction that it was before,
 *   whatever account sent it, so that sending it again is safe. Everything else goes to the lane with the least under
 *   way that has room; lanes under a hold are passed over as long as one is not: a key that runs out of money gets
 *   nothing new, what has a nonce there is finished, and what waits for one goes to an account that can pay, unless it
 *   is bound to its own: by name, in a sequence, with `authorize`, `deploys` or `effect`.
 * - `affinity` keeps transactions together: the same word goes to the same account, in every process. A sequence goes
 *   to one account as a whole.
 * - `list` goes from lane to lane, newest first within each. `address` is the first account's. `snapshot` is each
 *   lane's own: see `senders`.
 *
 * Not guaranteed: any order between transactions. Who needs one names it with `after`, sends a sequence, or sends from
 * one account. Where no account can pay, a transaction ends with STARVED; with `starved: 'wait'` it waits, until it is
 * cancelled or one can.
 *
 * @throws TxlaneError `INVALID` or `UNSUPPORTED` at once for options that cannot work
 * @example
 * const pool = createSenderPool({ client, accounts })
 * for await (const result of pool.sendMany(items, { until: 'sealed' })) console.log(result.index, result.ok)
 */
export function createSenderPool<chain extends Chain>(
  parameters: SenderPoolParameters<chain>,
): SenderPool<chain> {
  return createSenderPoolIn(
    systemEnvironment(),
    parameters as unknown as SenderPoolParameters<Chain>,
  ) as unknown as SenderPool<chain>
}

/** `createSenderPool` in a given environment. */
function createSenderPoolIn(environment: Environment, parameters: SenderPoolParameters<Chain>): SenderPool {
  const { accounts, ...options } = parameters
  checkAccounts(accounts)
  return createPool(
    accounts.map((account) => createMemberIn(environment, { ...options, account })),
    options.starved,
  )
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

/** The pool over senders that are there already. `starved`: for every transaction that names none itself. */
export function createPool(
  members: readonly Member[],
  starved: LaneOptions<Chain>['starved'] = 'fail',
): SenderPool {
  const senders = members.map((member) => member.sender)
  const [first] = senders as [Sender]
  // Ids on their way into a lane: the second send of one id at the same time has to go the same way.
  const routes = new Map<string, Promise<Member>>()
  // By id: what `after` names may be no further yet.
  const arriving = new Map<string, ReturnType<Start>>()
  const starting = new Map<Member, number>()
  let turn = 0

  /** Of those with room the one with the least under way, else the one with the most room. Among equals they take turns. */
  function freest(): Member {
    const free = members.filter((member) => member.holds().length === 0)
    const choice = free.length > 0 ? free : members
    const start = turn++ % choice.length
    const turned = [...choice.slice(start), ...choice.slice(0, start)]
    return turned.reduce((best, member) => (isFreer(member, best) ? member : best))
  }

  function isFreer(one: Member, other: Member): boolean {
    const [room, otherRoom] = [roomOf(one), roomOf(other)]
    return room > 0 && otherRoom > 0 ? loadOf(one) < loadOf(other) : room > otherRoom
  }

  const roomOf = (member: Member): number => member.room() - (starting.get(member) ?? 0)
  const loadOf = (member: Member): number => member.load() + (starting.get(member) ?? 0)

  function route(request: unknown, id: string | undefined, affinity: unknown): Promise<Member> {
    const named = accountOf(request)
    if (named !== undefined) return Promise.resolve(memberOf(named))
    const choose = () => (typeof affinity === 'string' ? nearest(affinity) : freest())
    if (id === undefined) return Promise.resolve(choose())
    const known = routes.get(id)
    if (known) return known
    const found = memberThatKnows(id).then((member) => member ?? choose())
    routes.set(id, found)
    return found
  }

  /** By the word alone; another only while that one is out of work. */
  function nearest(affinity: string): Member {
    const isOut = (member: Member) => member.holds().some((reason) => OUT_OF_WORK.has(reason))
    const fit = members.filter((member) => !isOut(member))
    const addresses = (fit.length > 0 ? fit : members).map(({ sender }) => sender.address)
    return memberOf(nearestTo(affinity, addresses) ?? first.address)
  }

  function memberOf(address: string): Member {
    const found = members.find(({ sender }) => sender.address.toLowerCase() === address.toLowerCase())
    if (found === undefined) throw invalid('request.account', address, "one of the pool's accounts")
    return found
  }

  /** The one whose transaction it is. An account that the pool does not have any more is none of them. */
  async function memberThatKnows(id: string): Promise<Member | undefined> {
    const address = transactionOf(await get(id))?.lane.address
    return members.find(({ sender }) => sender.address.toLowerCase() === address)
  }

  const start: Start = async (asked, sendOptions) => {
    const request = ownRequest(asked)
    const options = ownOptions(sendOptions)
    options.starved ??= starved
    const { id, affinity } = options
    const given = Array.isArray(options.after) ? resolved(options) : Promise.resolve(options)
    const begun = begin(request, given, { id, affinity })
    if (typeof id !== 'string' || arriving.has(id)) return begun
    arriving.set(id, begun)
    return begun.finally(() => arriving.delete(id))
  }

  async function begin(
    request: TxRequest,
    given: Promise<SendOptions>,
    { id, affinity }: Pick<SendOptions, 'id' | 'affinity'>,
  ): ReturnType<Start> {
    try {
      // First: what was named is waited for, and a route is chosen by the room that there is after that.
      const options = await given
      const member = await route(request, typeof id === 'string' ? id : undefined, affinity)
      try {
        return await startIn(member, request, options)
      } catch (error) {
        const other = await takenElsewhere(error, request, id)
        if (other === undefined || other === member) throw error
        return await startIn(other, request, options)
      }
    } finally {
      // It is in the store now, or nowhere.
      if (id !== undefined) routes.delete(id)
    }
  }

  async function startIn(member: Member, request: TxRequest, options: SendOptions): ReturnType<Start> {
    starting.set(member, (starting.get(member) ?? 0) + 1)
    try {
      return await member.start(request, options, accountOf(request) === undefined ? { pooled: true } : {})
    } finally {
      starting.set(member, (starting.get(member) ?? 1) - 1)
    }
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
    const { id, affinity } = options
    const given = options.after === undefined ? options : await resolved(options)
    const named = own.find((request) => accountOf(request) !== undefined)
    const member = await route(named, id === undefined ? undefined : `${id}/0`, affinity)
    try {
      return await member.sender.sendSequence(own, given)
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
    for (const member of members) {
      const live = member.live(by)
      if (live) return live
    }
    // Whoever is asked: its store answers for all accounts of the chain.
    return first.get(by)
  }

  async function all(work: (sender: Sender) => Promise<void>): Promise<void> {
    await Promise.all(senders.map(work))
  }

  /** What one has no money for goes to the one with the most room of those that can pay, and that this process holds. */
  const reliefOf = (short: Member) => (): PlaceFor => {
    const places = members.flatMap((member) => {
      const held = member === short || member.holds().length > 0 ? undefined : member.held()
      return held ? [{ ...held, room: roomOf(member), spareWei: held.seat.spareWei ?? 0n }] : []
    })
    let later: boolean | undefined
    return (costWei, not) => {
      const open = places.filter(({ key }) => !not.includes(key.address))
      const fit = open.filter(({ room, spareWei }) => room > 0 && spareWei > costWei)
      const place = fit.reduce((best, one) => (best && best.room >= one.room ? best : one), fit[0])
      if (place === undefined) {
        later ??= lookForMoney(short)
        return later || open.some(({ room }) => room <= 0) ? 'later' : undefined
      }
      place.room--
      place.spareWei -= costWei
      return place.key
    }
  }

  /** True where there may be some: it came since it was read, or the lane is not open yet. */
  function lookForMoney(short: Member): boolean {
    const others = members.filter((member) => member !== short && !member.closed())
    const looking = others.map((member) => {
      if (!member.opened()) void member.sender.ready().catch(() => {})
      return member.held()?.seat.weigh() ?? !member.opened()
    })
    return looking.includes(true)
  }

  for (const member of members) member.relieveBy(reliefOf(member))

  const pool: SenderPool = {
    senders,
    get chain() {
      return first.chain
    },
    address: first.address,
    ready: () => all((sender) => sender.ready()),
    send,
    writeContract: async (call, options) => sendCall(withAccount(call, contractCall), options),
    deployContract: async (call, options) => sendCall(withAccount(call, deployCall), options),
    sendMany: (items: Iterable<Item> | AsyncIterable<Item>, options?: SendManyOptions) =>
      sendMany(start, items, options),
    sendSequence,
    get,
    list: (options) => listAll(senders, options),
    inFlight: () => senders.flatMap((sender) => sender.inFlight()),
    observe(seen) {
      for (const sender of senders) sender.observe(seen)
    },
    on(event, listener) {
      const offs = senders.map((sender) => sender.on(event, listener))
      return () => {
        for (const off of offs) off()
      }
    },
    async resolve(id, fate) {
      const member = await memberThatKnows(id)
      await (member?.sender ?? first).resolve(id, fate)
    },
    snapshot: () => Promise.reject(unsupported('snapshot() of a pool', 'ask each of its senders')),
    resync: () => all((sender) => sender.resync()),
    pause() {
      for (const sender of senders) sender.pause()
    },
    resume() {
      for (const sender of senders) sender.resume()
    },
    drain: (options) => all((sender) => sender.drain(options)),
    close: () => all((sender) => sender.close()),
    [Symbol.asyncDispose]: () => pool.close(),
  }
  return printedAs(pool, () => ({
    chainId: first.chain.id,
    addresses: senders.map(({ address }) => address),
  }))

  /** What the ABI tells is the same for every account; the one that is named is kept for the choice of the lane. */
  function withAccount(
    call: unknown,
    encode: (call: unknown, sender: Sender['address']) => ContractCall,
  ): ContractCall {
    const named = accountOf(call)
    const { request, decode } = encode(
      call,
      named === undefined ? first.address : memberOf(named).sender.address,
    )
    return {
      request: { ...request, ...(named === undefined ? {} : { account: named }) } as TxRequest,
      decode,
    }
  }
}

/** Held by one of these, a lane takes nothing on for longer than a moment. */
const OUT_OF_WORK: ReadonlySet<HoldReason> = new Set<HoldReason>([
  'paused',
  'starved',
  'jump',
  'deepReorg',
  'storeBehindChain',
  'storeReplaced',
])

function accountOf(request: unknown): string | undefined {
  const { account, from } = (request ?? {}) as { account?: unknown; from?: unknown }
  const given =
    typeof account === 'object' && account !== null ? (account as { address?: unknown }).address : account
  const named = given ?? from
  return typeof named === 'string' ? named : undefined
}
