import { createLane } from '../../allocator/lane.js'
import { stoppableClock } from '../../platform/clock.js'
import { reportError } from '../../platform/reportError.js'
import { takeChanged } from '../confirmation/stages.js'
import { shareOf } from '../queue/groups.js'
import { createPendingQueue } from '../queue/pendingQueue.js'
import type { Transaction } from '../transaction/transaction.js'
import { createContext } from './createContext.js'
import type { EngineOptions } from './engineTypes.js'
import { createSignals } from './signals.js'
import { reportHold } from './surroundings.js'

export type Core = ReturnType<typeof createCore>

/** The objects that all parts of a lane share: the nonces, the pending queue, and the signals between the parts. */
export function createCore(options: EngineOptions) {
  const { environment, session, groups } = options
  const { clock, estimator } = options.ahead
  const signals = createSignals()
  const weightOf = (group: string | undefined) => shareOf(groups, group).weight
  const queue = createPendingQueue<Transaction>(weightOf)
  const closing = new AbortController()
  const broken = (error: unknown) => reportError(session, error)
  // The inbox counts the commands of other processes that are done, for the next write of the journal.
  const commands = { doneUpTo: 0 }
  const lane = createLane({
    ...options,
    clock,
    turns: options.endpointPool.turns,
    duties: {
      perform: signals.perform,
      moved: signals.moved,
      held(...change) {
        reportHold(context, ...change)
        if (!change[1]) signals.freed()
      },
      changedTransactions: () => takeChanged(context),
      commandsDoneUpTo: () => commands.doneUpTo,
      failed: broken,
      covered: signals.freed,
      lost: options.lost,
      took: environment.probe?.row,
    },
  })
  const context = createContext(options, { lane, closing: closing.signal })
  const background = stoppableClock(environment.background ?? environment.clock)
  return { context, lane, queue, signals, closing, clock, background, commands, estimator, weightOf, broken }
}
