import { type AdmissionTarget, type TimeLimit, timeLimit } from '../../lane/transaction/caller.js'
import type { Clock } from '../../platform/clock.js'
import type { SendOptions, SequenceOptions, Tx, TxRequest } from '../../types/index.js'
import { ownOptions, ownRequest } from '../../validate/own.js'
import { checkSequence } from '../../validate/validateCalls.js'
import type { Member } from '../sender/member.js'
import type { Start } from '../sender/sendMany.js'
import type { Members } from './members.js'
import { accountOf, type Routing } from './routing.js'

/** The calls of a pool that add transactions to its lanes. */
export type PoolSends = {
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
