import type { Delivery } from './delivery.js'
import type { Copies } from './driverCopies.fixture.js'
import type { DeliveryOptions, EndpointTraits } from './state.js'

type Request = {
  readonly nonces: readonly number[]
  readonly count: boolean
  readonly kind: 'repair' | 'new' | 'sync'
}

/** Describes the rules that a request breaks. `latest`: the account's count in the newest refresh. */
export function violationsOf(
  { nonces, count, kind }: Request,
  { status }: Delivery,
  copies: Copies,
  limits: {
    readonly options: DeliveryOptions
    readonly traits: Partial<EndpointTraits>
    readonly latest: number
  },
): readonly string[] {
  const { options, traits, latest } = limits
  const { sent, away } = copies
  const violations: string[] = []
  const first = nonces[0] ?? 0
  const last = nonces.at(-1) ?? 0
  const gapBudget = traits.gapBudget ?? 16
  const isAscending = nonces.every((nonce, index) => index === 0 || nonce > (nonces[index - 1] ?? 0))
  if (!isAscending) violations.push(`out of order: ${nonces.join()}`)
  if (nonces.length + Number(count) > options.batchMax) violations.push(`a request of ${nonces.length}`)
  if (status.window < 1 || status.window > options.windowMax) violations.push(`a window of ${status.window}`)
  if (kind === 'repair') return violations
  const lower = copies.refusedBelow(first)
  if (lower !== undefined) violations.push(`${first} above ${lower}, which was refused`)
  if (nonces.some((nonce) => (sent[nonce] ?? 0) > 0)) violations.push(`${first} is not new`)
  const next = sent.findIndex((times, nonce) => times === 0 && !away.has(nonce))
  if (next !== first) violations.push(`${first} leaves a gap`)
  const hole = Math.min(...[...away].filter((nonce) => sent[nonce] === 0))
  if (last > hole + gapBudget) violations.push(`${nonces} above ${hole}`)
  // Nonces that the count does not include yet do not fill the window, up to the gap budget.
  const slack = traits.countsMempool ? gapBudget : 0
  if (status.outstanding > status.window + slack)
    violations.push(`${status.outstanding} outstanding in a window of ${status.window}`)
  if (last >= latest + status.pool) violations.push(`${last} is too far above ${latest}`)
  const gapped = last - (copies.lowestOpen(status.acknowledgedTo)?.at(-1) ?? last)
  if (gapped > gapBudget) violations.push(`${gapped} may overtake`)
  return violations
}
