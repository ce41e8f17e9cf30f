import type { Hash } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import { type AdmissionTarget, type TimeLimit, timeLimit } from '../../lane/transaction/caller.js'
import { transactionOf } from '../../lane/transaction/txInternals.js'
import type { Clock } from '../../platform/clock.js'
import type { SendOptions, SequenceOptions, Tx, TxRequest } from '../../types/index.js'
import { ownOptions, ownRequest } from '../../validate/own.js'
import { checkSequence } from '../../validate/validateCalls.js'
import type { Member } from '../sender/member.js'
import type { Start } from '../sender/sendMany.js'
import type { Members } from './members.js'

/** The calls of a pool that add transactions to its lanes. */
type PoolSends = {
  readonly start: Start
  send(request: TxRequest, options?: SendOptions): Promise<Tx>
  sendSequence(requests: readonly TxRequest[], options?: SequenceOptions): Promise<readonly Tx[]>
}

export function createPoolSends(parts: {
  readonly members: Members
  readonly routing: Routing
  /** The value of `starved` for every transaction that has none. */
  readonly starved: SendOptions['starved']
  /** Called before each send. */
  readonly begun: () => void
}): PoolSends {
  const { members, routing, starved } = parts

  const start: Start = async (asked, sendOptions) => {
    const request = ownRequest(asked)
    const options = ownOptions(sendOptions)
    options.starved ??= starved
    const { id, affinity, again } = options
    const given = Array.isArray(options.after) ? routing.resolved(options) : Promise.resolve(options)
    const limit = timeLimit(members.all[0]?.clock as Clock, options)
    return routing.starting(id, limit.untilBegun(begin(request, given, { id, affinity, again, limit })))
  }

  async function begin(
    request: TxRequest,
    given: Promise<SendOptions>,
    { id, limit, ...way }: Pick<SendOptions, 'id' | 'affinity' | 'again'> & { readonly limit: TimeLimit },
  ): ReturnType<Start> {
    parts.begun()
    try {
      // The route is chosen after the transactions in `after` have arrived, by the room that is left then.
      const options = await given
      const member = await routing.route(request, typeof id === 'string' ? id : undefined, way)
      try {
        return await startIn(member, request, limit.left(options))
      } catch (error) {
        const other = await routing.takenElsewhere(error, request, id)
        if (other === undefined || other === member) throw error
        return await startIn(other, request, limit.left(options))
      }
    } finally {
      if (id !== undefined) routing.arrived(id)
    }
  }

  function startIn(member: Member, request: TxRequest, options: SendOptions): ReturnType<Start> {
    const target: AdmissionTarget = accountOf(request) === undefined ? { pooled: true } : {}
    return members.starting(member, () => member.start(request, options, target))
  }

  return {
    start,
    async send(request, options = {}) {
      const untilQueued = (options as SendOptions | null)?.until === 'queued'
      const { tx, accepted } = await start(request, options)
      if (!untilQueued) await accepted()
      return tx
    },
    async sendSequence(requests, sequenceOptions = {}) {
      checkSequence(requests, sequenceOptions)
      const options = ownOptions(sequenceOptions)
      options.starved ??= starved
      const own = requests.map(ownRequest)
      const { id, affinity, again } = options
      const given = options.after === undefined ? options : await routing.resolved(options)
      const named = own.find((request) => accountOf(request) !== undefined)
      const member = await routing.route(named, id === undefined ? undefined : `${id}/0`, { affinity, again })
      try {
        return await members.starting(member, () => member.sender.sendSequence(own, given))
      } finally {
        if (id !== undefined) routing.arrived(`${id}/0`)
      }
    },
  }
}

/** Chooses the account for each transaction of a pool. */
type Routing = {
  get(by: string | { hash: Hash }): Promise<Tx | undefined>
  /** The account that sends the request. Two sends of one id at the same time get the same account. */
  route(
    request: unknown,
    id: string | undefined,
    options: Pick<SendOptions, 'affinity' | 'again'>,
  ): Promise<Member>
  /** The transaction with this id is in the store now, or was not added. */
  arrived(id: string): void
  /** The account whose transaction has this id. Undefined if the pool does not have that account any more. */
  memberThatKnows(id: string): Promise<Member | undefined>
  /**
   * Another process sent the same id at the same moment from another account. The request of that transaction may
   * equal this one, which its lane can compare.
   */
  takenElsewhere(error: unknown, request: unknown, id: string | undefined): Promise<Member | undefined>
  /** Runs a send, which other sends may name in `after` from now on. */
  starting(id: unknown, begun: ReturnType<Start>): ReturnType<Start>
  /**
   * Options whose `after` names transactions of any lane of the pool. Sends that are on their way into a lane at
   * the time of the call are awaited, and no later ones, so that no send waits for itself.
   */
  resolved<options extends SendOptions | SequenceOptions>(options: options): Promise<options>
}

export function createRouting(members: Members): Routing {
  // By id, for transactions on their way into a lane.
  const routes = new Map<string, Promise<Member>>()
  const arriving = new Map<string, ReturnType<Start>>()

  /** The account that a request names. A retiring account takes only ids that it has already. */
  async function memberAt(address: string, id: string | undefined): Promise<Member> {
    const found = members.find(address)
    if (found && members.taking.includes(found)) return found
    if (found && id !== undefined && (await memberThatKnows(id)) === found) return found
    throw invalid('request.account', address, 'an account that the pool has, and does not retire')
  }

  async function memberThatKnows(id: string): Promise<Member | undefined> {
    const address = transactionOf(await get(id))?.lane.address
    return members.find(address)
  }

  async function get(by: string | { hash: Hash }): Promise<Tx | undefined> {
    for (const member of members.all) {
      const live = member.live(by)
      if (live) return live
    }
    // Each member reads the same store, which has the transactions of all accounts of the chain.
    return (members.serving[0] ?? members.all[0])?.sender.get(by)
  }

  return {
    get,
    memberThatKnows,
    route(request, id, { affinity, again }) {
      const named = accountOf(request)
      if (named !== undefined) return memberAt(named, id)
      const choose = () => (typeof affinity === 'string' ? members.nearest(affinity) : members.freest())
      // All calls of one moment share the reports, which are read beside the id.
      const reports = members.fresh()
      if (id === undefined) return reports === undefined ? Promise.resolve(choose()) : reports.then(choose)
      const known = routes.get(id)
      if (known) return known
      // An id that begins anew needs an account that takes transactions. Any other id stays at its account.
      const takes = (member: Member) => again !== true || members.taking.includes(member)
      const found = Promise.all([memberThatKnows(id), reports]).then(([member]) =>
        member && takes(member) ? member : choose(),
      )
      routes.set(id, found)
      return found
    },
    arrived(id) {
      routes.delete(id)
    },
    async takenElsewhere(error, request, id) {
      if (!isTxlaneError(error) || error.code !== 'ID_CONFLICT') return undefined
      return id === undefined || accountOf(request) !== undefined ? undefined : memberThatKnows(id)
    },
    starting(id, begun) {
      if (typeof id !== 'string' || arriving.has(id)) return begun
      arriving.set(id, begun)
      return begun.finally(() => arriving.delete(id))
    },
    async resolved(options) {
      const { after = [] } = options
      const known = async (id: string): Promise<string | Tx> => {
        const begun = await arriving.get(id)?.catch(() => undefined)
        return begun?.tx ?? (await get(id)) ?? id
      }
      return {
        ...options,
        after: await Promise.all(after.map((one) => (typeof one === 'string' ? known(one) : one))),
      }
    },
  }
}

/** The address that a request names as its sender. */
export function accountOf(request: unknown): string | undefined {
  const { account, from } = (request ?? {}) as { account?: unknown; from?: unknown }
  const given =
    typeof account === 'object' && account !== null ? (account as { address?: unknown }).address : account
  const named = given ?? from
  return typeof named === 'string' ? named : undefined
}
