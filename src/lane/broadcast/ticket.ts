import type { Grant, RequestGate } from '../../chain/endpoints/requestGate.js'
import type { Priority } from '../../delivery/requestBudget.js'
import type { Demand } from '../../delivery/select.js'

/** The place of one delivery in the queue of an endpoint's request budget. */
export type Ticket = {
  /** What the delivery needs now. Returns how many calls may leave. */
  ask(demand: Demand): number
  /** The grant that is used now. */
  take(): Grant
  /** The delivery needs nothing now: it waits for no grant any more. */
  close(): void
  /** Nothing leaves now: what was granted and is not used goes. */
  drop(): void
  /** It waits in vain for now: the endpoint asked to be left alone. */
  readonly isResting: boolean
}

const PRIORITY: Record<Demand['kind'], Priority> = { repair: 'repair', new: 'send', count: 'evidence' }

/** `granted` is called where a grant comes later than it was asked for. */
export function createTicket(gate: RequestGate, granted: () => void): Ticket {
  let open: { readonly demand: Demand; readonly withdraw: () => void } | undefined
  let grant: Grant | undefined

  function close(): void {
    open?.withdraw()
    open = undefined
  }

  function ask(demand: Demand): void {
    if (open?.demand.kind === demand.kind && open.demand.calls === demand.calls) return
    close()
    const withdraw = gate.ask({ priority: PRIORITY[demand.kind], calls: demand.calls }, (given) => {
      grant = given
      if (open === undefined) return
      open = undefined
      granted()
    })
    if (grant === undefined) open = { demand, withdraw }
  }

  return {
    ask(demand) {
      if (grant === undefined) ask(demand)
      return grant?.calls ?? 0
    },
    close,
    take() {
      if (grant === undefined) throw new Error('Nothing was granted.')
      const taken = grant
      grant = undefined
      return taken
    },
    drop() {
      grant = undefined
    },
    get isResting() {
      return open !== undefined && gate.isBlocked
    },
  }
}
