import type { Grant, RequestGate } from '../../chain/endpoints/requestGate.js'
import type { Priority } from '../../delivery/requestBudget.js'
import type { Demand } from '../../delivery/select.js'

/** A delivery's position in the queue of an endpoint's request budget. */
export type Ticket = {
  /**
   * Requests calls for the current demand of the delivery. Returns the number of calls that may leave now.
   */
  ask(demand: Demand): number
  /** Takes the current grant for use. */
  take(): Grant
  /** Stops waiting for a grant, because the delivery needs none. */
  close(): void
  /** Discards an unused grant, because nothing leaves now. */
  drop(): void
  /** The endpoint asked for a pause, so no grant can come at the moment. */
  readonly isResting: boolean
}

const PRIORITY: Record<Demand['kind'], Priority> = { repair: 'repair', new: 'send', count: 'evidence' }

/** `granted` is called if a grant arrives after `ask` has returned. */
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
