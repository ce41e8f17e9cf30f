import type { Address } from 'viem'
import { percentile, rounded } from '../support/statistics.js'
import type { ReportedItem, Verdict } from './check.js'
import type { FaultRow } from './faultRows.js'
import type { ItemRecord } from './records.js'
import type { Traffic } from './target.js'
import type { Told } from './watch.js'

/**
 * Result object, printed by `--json`. Times are in milliseconds, from the call of `send`. `null` means not
 * measured.
 */
export type DemoResult = Verdict & {
  readonly acceptedPerSecond: number | null
  readonly rpcCallsPerTransaction: number
  readonly httpRequestsPerTransaction: number
  readonly preconfirmedMsP50: number | null
  readonly preconfirmedMsP99: number | null
  readonly sealedMsP50: number | null
  readonly sealedMsP99: number | null
  /** Time from the first `send` until the last transaction was sealed or had ended. */
  readonly timeMs: number
  readonly timedOut: boolean
  readonly seed: number
  readonly node: string
  readonly account: Address
  readonly contract: Address
  readonly blocks: { readonly first: number; readonly last: number }
  readonly faults: { readonly preset: string; readonly struck: readonly FaultRow[] }
  /** Number of events per kind of repair. */
  readonly events: Readonly<Record<string, number>>
  readonly holds: readonly string[]
  readonly senderError: string | null
  /** Reasons of the transactions that were never executed, with their numbers. */
  readonly failures: Readonly<Record<string, number>>
}

export function measure(records: readonly ItemRecord[], traffic: Traffic) {
  const sent = records.map(({ sentAtMs }) => sentAtMs).filter((at) => at > 0)
  const first = sent.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY)
  const accepted = times(records, 'acceptedAtMs')
  const lastAccepted = accepted.reduce((most, at) => Math.max(most, at), 0)
  const took = (stage: 'preconfirmedAtMs' | 'sealedAtMs', share: number) => {
    const waits = records.flatMap((record) =>
      record[stage] === undefined ? [] : [record[stage] - record.sentAtMs],
    )
    return percentile(waits, share) ?? null
  }
  const perTransaction = (count: number) => rounded(count / records.length, 3)
  return {
    // A burst shorter than a millisecond counts as one millisecond.
    acceptedPerSecond:
      accepted.length === 0
        ? null
        : rounded((accepted.length * 1_000) / Math.max(1, lastAccepted - first), 1),
    rpcCallsPerTransaction: perTransaction(traffic.calls),
    httpRequestsPerTransaction: perTransaction(traffic.requests),
    preconfirmedMsP50: took('preconfirmedAtMs', 0.5),
    preconfirmedMsP99: took('preconfirmedAtMs', 0.99),
    sealedMsP50: took('sealedAtMs', 0.5),
    sealedMsP99: took('sealedAtMs', 0.99),
  }
}

function times(records: readonly ItemRecord[], stage: 'acceptedAtMs'): number[] {
  return records.flatMap((record) => record[stage] ?? [])
}

export function tellings(told: Told): Pick<DemoResult, 'events' | 'holds' | 'senderError'> {
  return {
    events: Object.fromEntries([...told.counts].sort(([a], [b]) => a.localeCompare(b))),
    holds: [...told.holds],
    senderError: told.firstError ?? null,
  }
}

export function failuresOf(reported: readonly ReportedItem[]): Record<string, number> {
  const failures: Record<string, number> = {}
  for (const said of reported) {
    if (said.outcome === 'notExecuted') failures[said.why] = (failures[said.why] ?? 0) + 1
  }
  return failures
}
