import { OPTIONS, SIZE } from './byHand.fixture.js'
import { createDelivery, type Delivery, type DeliveryAction } from './delivery.js'
import { createBudgeted } from './driverBudget.fixture.js'
import { createCopies } from './driverCopies.fixture.js'
import { violationsOf } from './driverRules.fixture.js'
import type { Network, NetworkOptions } from './network.fixture.js'
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
  const copies = createCopies(transactions, sentBefore)
  const budget = createBudgeted(delivery, network, transactions)
  const violations: string[] = []
  let latest = 0
  let acknowledgedMs = 0
  let wake: (() => void) | undefined

  function send({ request, nonces, count, kind }: Extract<DeliveryAction, { do: 'send' }>): void {
    violations.push(...violationsOf({ nonces, count, kind }, delivery, copies, { options, traits, latest }))
    copies.leave(request, nonces)
    const sentAtMs = network.nowMs
    network.request(nonces, count, (reply) => {
      copies.ended(request, nonces, reply, delivery.has)
      budget.noteRate(sentAtMs, nonces.length + Number(count), reply)
      delivery.ended(request, reply, network.nowMs)
      step()
    })
  }

  function count(): void {
    const askedAtMs = network.nowMs
    network.request([], true, (reply) => {
      budget.noteRate(askedAtMs, 1, reply)
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
      const action = budget.next()
      const { acknowledgedTo } = delivery.status
      copies.acknowledged(acknowledgedTo)
      if (acknowledgedMs === 0 && acknowledgedTo >= transactions) acknowledgedMs = network.nowMs
      if (action.do === 'wait') {
        if (action.untilMs !== undefined) wake = network.at(action.untilMs - network.nowMs, step)
        return
      }
      if (action.do === 'accept') violations.push(...copies.wronglyAccepted(action.nonce))
      else if (action.do === 'count') count()
      else send(action)
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
  const disturb = createDisturbing({ delivery, network, transactions, away: copies.away, step })
  for (const each of run.disturbances ?? []) network.at(each.atMs, () => disturb(each))
  for (let nonce = sentBefore; nonce < transactions; nonce++) delivery.offer(nonce, SIZE, 'first')
  if (sentBefore > 0) network.request(before, false, () => network.at(PROMOTED_MS, begin))
  else begin()
  const done = network.run(() => network.sealed >= transactions, run.limitMs ?? 3_600_000)
  return {
    done,
    sends: copies.sent.reduce((sum, times) => sum + times, -sentBefore),
    perNonce: copies.sent,
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
