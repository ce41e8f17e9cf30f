import type { Hash } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import { transactionOf } from '../../lane/transaction/txInternals.js'
import type { SendOptions, SequenceOptions, Tx } from '../../types/index.js'
import type { Member } from '../sender/member.js'
import type { Start } from '../sender/sendMany.js'
import type { Members } from './members.js'

/** Chooses the account for each transaction of a pool. */
export type Routing = {
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
