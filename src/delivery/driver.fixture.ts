import { OPTIONS, SIZE } from './byHand.fixture.js'
import { createDelivery, type Delivery, type DeliveryAction } from './delivery.js'
import type { Network, NetworkOptions, Reply } from './network.fixture.js'
import { createRequestBudget, type Priority } from './requestBudget.js'
import type { Demand } from './select.js'
import type { DeliveryOptions, EndpointTraits } from './state.js'

export type Run = {
  readonly done: boolean
  /** Copies sent, summed over all nonces. */
  readonly sends: number
  readonly perNonce: readonly number[]
  /** When the last nonce was acknowledged, and when it was confirmed, in milliseconds. */
  readonly acknowledgedMs: number
  readonly confirmedMs: number
  readonly requests: number
  /** Descriptions of the broken rules. */
  readonly violations: readonly string[]
  readonly delivery: Delivery
}

/**
 * An event that a run applies to its delivery or its node.
 *
 * - `again`: the same bytes of a nonce are offered once more.
 * - `other`: other bytes of the nonce are offered.
 * - `withdraw`: the nonce must not go to this endpoint; other bytes are offered some time later.
 * - `reclaim`: the nonces that are not at the endpoint are removed, and offered again some time later.
 * - `restart`: the node restarts with an empty pool.
 */
export type Disturbance = {
  readonly kind: 'again' | 'other' | 'withdraw' | 'reclaim' | 'restart'
  readonly atMs: number
  /** The affected nonce among those that are not in sealed blocks: from 0, the lowest, up to 1. */
  readonly place: number
}

const AWAY_MS = 300
/** By then the pool has reorganised the nonces that it answered, and its count includes them. */
const PROMOTED_MS = 10

const PRIORITY: Record<Demand['kind'], Priority> = { repair: 'repair', new: 'send', count: 'evidence' }

function least(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}

/**
 * A minimal shell: it drives one delivery over a network as `delivery.ts` describes it, and checks the rules
 * on the way.
 */
export function drive(
  network: Network,
  { node, refreshMs, latencyMs }: Pick<NetworkOptions, 'node' | 'refreshMs' | 'latencyMs'>,
  run: {
    readonly transactions: number
    readonly options?: Partial<DeliveryOptions>
    readonly traits?: Partial<EndpointTraits>
    readonly limitMs?: number
    readonly disturbances?: readonly Disturbance[]
    /** The number of the first nonces that are at the node already, because another process sent them. */
    readonly sentBefore?: number
  },
): Run {
  const options = { ...OPTIONS, ...run.options }
  const delivery = createDelivery(options)
  const countsMempool = node === 'geth' && refreshMs === undefined
  const traits = { countsMempool, gapBudget: node === 'geth' ? 64 : 0, ...run.traits }
  delivery.know(traits)
  const { transactions, sentBefore = 0 } = run
  const before = Array.from({ length: sentBefore }, (_, nonce) => nonce)
  const sent = new Array<number>(transactions).fill(0).fill(1, 0, sentBefore)
  const violations: string[] = []
  const open = new Map<number, readonly number[]>()
  const newest = new Array<number>(transactions).fill(0)
  // Nonces of which an older copy was accepted after the newest one had been sent.
  const arrived = new Set<number>()
  // Nonces that the endpoint refused in its newest answer, and has not accepted since. A late refresh may
  // confirm fewer nonces than the refresh before it: nonces that the earlier one confirmed do not count as
  // refused.
  const refused = new Set<number>()
  // Nonces that must not go to the endpoint for now.
  const away = new Set<number>()
  let latest = 0
  let acknowledgedMs = 0
  let wake: (() => void) | undefined

  function check(nonces: readonly number[], count: boolean, kind: 'repair' | 'new'): void {
    const first = nonces[0] ?? 0
    const isAscending = nonces.every((nonce, index) => index === 0 || nonce > (nonces[index - 1] ?? 0))
    if (!isAscending) violations.push(`out of order: ${nonces.join()}`)
    if (nonces.length + Number(count) > options.batchMax) violations.push(`a request of ${nonces.length}`)
    const { status } = delivery
    if (status.window < 1 || status.window > options.windowMax)
      violations.push(`a window of ${status.window}`)
    if (kind !== 'new') return
    const lower = [...refused].filter((nonce) => nonce < first && !away.has(nonce))
    if (lower.length > 0) violations.push(`${first} above ${lower[0]}, which was refused`)
    if (nonces.some((nonce) => (sent[nonce] ?? 0) > 0)) violations.push(`${first} is not new`)
    const next = sent.findIndex((times, nonce) => times === 0 && !away.has(nonce))
    if (next !== first) violations.push(`${first} leaves a gap`)
    const hole = Math.min(...[...away].filter((nonce) => sent[nonce] === 0))
    if ((nonces.at(-1) ?? 0) > hole + (traits.gapBudget ?? 16)) violations.push(`${nonces} above ${hole}`)
    // Nonces that the count does not include yet do not fill the window, up to the gap budget.
    const slack = traits.countsMempool ? (traits.gapBudget ?? 16) : 0
    if (status.outstanding > status.window + slack)
      violations.push(`${status.outstanding} outstanding in a window of ${status.window}`)
    const last = nonces.at(-1) ?? 0
    if (last >= latest + status.pool) violations.push(`${last} is too far above ${latest}`)
    const isOpen = (nonce: number, id: number) =>
      nonce >= status.acknowledgedTo && newest[nonce] === id && !arrived.has(nonce)
    const opens = [...open].filter(([id, each]) => each.some((nonce) => isOpen(nonce, id)))
    const [lowest] = opens.map(([, each]) => each).sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0))
    const gapped = last - (lowest?.at(-1) ?? last)
    if (gapped > (traits.gapBudget ?? 16)) violations.push(`${gapped} may overtake`)
  }

  const budget = createRequestBudget()
  let ticket: { readonly id: number; readonly demand: Demand } | undefined
  let tickets = 0

  function withdraw(): void {
    if (ticket) budget.withdraw(ticket.id)
    ticket = undefined
  }

  // State of the present search for the next action.
  const asked = { isAsked: false, wakeAtMs: undefined as number | undefined }

  /** Holds one ticket at a time, for the present demand of the delivery. */
  function grant(demand: Demand): number {
    if (ticket && (ticket.demand.kind !== demand.kind || ticket.demand.calls !== demand.calls)) withdraw()
    if (ticket === undefined) {
      ticket = { id: ++tickets, demand }
      budget.ask({ id: ticket.id, priority: PRIORITY[demand.kind], calls: demand.calls })
    }
    const { granted, wakeAtMs } = budget.grants(network.nowMs)
    if (granted.length > 0) ticket = undefined
    asked.isAsked = true
    asked.wakeAtMs = wakeAtMs
    return granted[0]?.calls ?? 0
  }

  /** The next action within the budget. */
  function next(): DeliveryAction {
    asked.isAsked = false
    asked.wakeAtMs = undefined
    const action = delivery.next({ nowMs: network.nowMs, below: transactions, grant })
    if (!asked.isAsked) withdraw()
    return action.do === 'wait' ? { do: 'wait', untilMs: least(action.untilMs, asked.wakeAtMs) } : action
  }

  /** Reports to the budget how many calls the endpoint's rate limit denied. */
  function noteRate(sentAtMs: number, calls: number, reply: Reply): void {
    if (reply.end !== 'answers') return
    const isCountDenied = calls > reply.answers.length && reply.count === undefined
    const denied = reply.answers.filter(({ kind }) => kind === 'limited').length + Number(isCountDenied)
    budget.ended({ calls, denied, sentAtMs, atMs: network.nowMs })
  }

  function send(request: number, nonces: readonly number[], count: boolean, kind: 'repair' | 'new'): void {
    check(nonces, count, kind)
    for (const nonce of nonces) {
      sent[nonce] = (sent[nonce] ?? 0) + 1
      newest[nonce] = request
      arrived.delete(nonce)
    }
    open.set(request, nonces)
    const sentAtMs = network.nowMs
    network.request(nonces, count, (reply: Reply) => {
      open.delete(request)
      if (reply.end === 'answers')
        for (const [index, nonce] of nonces.entries()) {
          if (reply.answers[index]?.kind === 'taken') {
            refused.delete(nonce)
            arrived.add(nonce)
          } else if (newest[nonce] === request && !arrived.has(nonce) && delivery.has(nonce))
            refused.add(nonce)
        }
      noteRate(sentAtMs, nonces.length + Number(count), reply)
      delivery.ended(request, reply, network.nowMs)
      step()
    })
  }

  function count(): void {
    const askedAtMs = network.nowMs
    network.request([], true, (reply) => {
      noteRate(askedAtMs, 1, reply)
      const read = reply.end === 'answers' ? reply.count : undefined
      if (read === undefined) delivery.countFailed()
      else delivery.counted({ count: read, askedAtMs, atMs: network.nowMs })
      step()
    })
  }

  function step(): void {
    wake?.()
    wake = undefined
    for (;;) {
      const action = next()
      // The count shows that an older copy of it arrived.
      for (const nonce of refused) if (nonce < delivery.status.acknowledgedTo) refused.delete(nonce)
      if (acknowledgedMs === 0 && delivery.status.acknowledgedTo >= transactions)
        acknowledgedMs = network.nowMs
      if (action.do === 'wait') {
        if (action.untilMs !== undefined) wake = network.at(action.untilMs - network.nowMs, step)
        return
      }
      if (action.do === 'count') count()
      else send(action.request, action.nonces, action.count, action.kind)
    }
  }

  function begin(): void {
    network.follow((refresh) => {
      latest = refresh.latest
      const atMs = network.nowMs
      delivery.refreshed({ ...refresh, atMs, askedAtMs: atMs - 2 * latencyMs })
      step()
    })
    step()
  }
  const disturb = createDisturbing({ delivery, network, transactions, away, step })
  for (const each of run.disturbances ?? []) network.at(each.atMs, () => disturb(each))
  for (let nonce = sentBefore; nonce < transactions; nonce++) delivery.offer(nonce, SIZE, 'first')
  if (sentBefore > 0) network.request(before, false, () => network.at(PROMOTED_MS, begin))
  else begin()
  const done = network.run(() => network.sealed >= transactions, run.limitMs ?? 3_600_000)
  return {
    done,
    sends: sent.reduce((sum, times) => sum + times, -sentBefore),
    perNonce: sent,
    acknowledgedMs,
    confirmedMs: network.nowMs,
    requests: network.requests,
    violations,
    delivery,
  }
}

/**
 * Applies the requested disturbances to a delivery or its node. `away`: nonces that must not go there for
 * now.
 */
function createDisturbing(parts: {
  readonly delivery: Delivery
  readonly network: Network
  readonly transactions: number
  readonly away: Set<number>
  readonly step: () => void
}) {
  const { delivery, network, transactions, away, step } = parts
  let versions = 0
  const offerFirst = (nonce: number) => delivery.offer(nonce, SIZE, 'first')
  const offerOther = (nonce: number) => delivery.offer(nonce, SIZE, `other ${++versions}`)

  function takeAway(nonces: readonly number[], comeBack: (nonce: number) => void): void {
    for (const nonce of nonces) away.add(nonce)
    network.at(AWAY_MS, () => {
      for (const nonce of nonces) if (away.delete(nonce)) comeBack(nonce)
      step()
    })
  }

  return ({ kind, place }: Disturbance): void => {
    const nonce = network.sealed + Math.floor(place * (transactions - 1 - network.sealed))
    switch (kind) {
      case 'again':
        if (!away.has(nonce)) offerFirst(nonce)
        break
      case 'other':
        if (!away.has(nonce)) offerOther(nonce)
        break
      case 'withdraw':
        delivery.withdraw(nonce)
        takeAway([nonce], offerOther)
        break
      case 'reclaim':
        takeAway(delivery.reclaim(), offerFirst)
        break
      case 'restart':
        network.restart()
        break
      default:
        kind satisfies never
    }
    step()
  }
}
