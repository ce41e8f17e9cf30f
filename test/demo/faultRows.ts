import type { FaultEntry, FaultRule } from '../../tools/devnet/index.js'
import type { ReportedItem } from './check.js'
import type { ItemRecord } from './records.js'
import type { Notified } from './watch.js'

/** Effect of one fault in a run, and the results of the affected transactions. */
export type FaultRow = {
  readonly fault: string
  /** Number of strikes: requests, calls, flashblocks or blocks, depending on the fault. */
  readonly times: number
  /** Number of affected transactions of the burst. */
  readonly transactions: number
  readonly example: string
  readonly repaired: string
}

export type FaultRun = {
  readonly log: readonly FaultEntry[]
  readonly records: readonly ItemRecord[]
  readonly reported: readonly ReportedItem[]
  readonly notified: Notified
}

type Touched = {
  readonly entry: FaultEntry
  readonly record: ItemRecord
  readonly said: ReportedItem | undefined
}

/** One row per rule that struck, in the order of the first strikes. */
export function faultRows(run: FaultRun): FaultRow[] {
  const byRule = new Map<FaultRule, FaultEntry[]>()
  for (const entry of run.log) byRule.set(entry.rule, [...(byRule.get(entry.rule) ?? []), entry])
  const byHash = new Map(
    run.records.flatMap((record) => record.attempts.map(({ hash }) => [hash, record] as const)),
  )
  const byItem = new Map(run.reported.map((said) => [said.item, said]))
  return [...byRule].map(([rule, entries]) => {
    const touched = new Map<number, Touched>()
    for (const entry of entries) {
      const record = entry.hash && byHash.get(entry.hash)
      if (record) touched.set(record.asked.item, { entry, record, said: byItem.get(record.asked.item) })
    }
    return {
      fault: nameOf(rule),
      times: new Set(entries.map(({ strike }) => strike)).size,
      transactions: touched.size,
      example: exampleOf(entries),
      repaired: repairOf(rule, [...touched.values()], run),
    }
  })
}

function nameOf(rule: FaultRule): string {
  switch (rule.fault) {
    case 'lostRequest':
      return 'lost request'
    case 'lostResponse':
      return 'lost response'
    case 'dropConnection':
      return 'connection dropped in mid-answer'
    case 'malformed':
      return 'answer cut short'
    case 'delay':
      return 'delay'
    case 'reorder':
      return 'reordering'
    case 'httpStatus':
      return `HTTP ${rule.status ?? 503}`
    case 'laggingReplica':
      return 'lagging replica'
    case 'rpcError':
      return rule.method === 'eth_estimateGas' ? 'gas estimation reverts' : `error ${rule.code ?? -32603}`
    case 'neverPooled':
      return 'hash returned, never pooled'
    case 'evict':
      return 'evicted from the pool'
    case 'foreign':
      return 'foreign transaction'
    case 'lostFlashblock':
      return 'lost flashblock'
    case 'reorg':
      return 'block replaced'
    case 'silentSubscription':
      return 'subscription goes silent'
    case 'repeatedNotification':
      return 'notification repeated'
    case 'skippedNotification':
      return 'notification skipped'
    case 'reorderedNotification':
      return 'notification after the next one'
    case 'droppedSocket':
      return 'WebSocket dropped'
    default:
      return rule satisfies never
  }
}

function exampleOf(entries: readonly FaultEntry[]): string {
  const sent = entries.find(({ nonce }) => nonce !== undefined)
  if (sent !== undefined) return `nonce ${sent.nonce}`
  return entries.find(({ method }) => method !== undefined)?.method ?? ''
}

function repairOf(
  rule: FaultRule,
  touched: readonly Touched[],
  { notified, records, reported }: FaultRun,
): string {
  switch (rule.fault) {
    case 'foreign': {
      const moved = records.filter(
        ({ attempts }) => new Set(attempts.map(({ nonce }) => nonce)).size > 1,
      ).length
      return `${notified.foreign.size} nonces used by foreign transactions, ${moved} transactions signed again for another nonce`
    }
    case 'lostFlashblock':
      return 'seen with the next flashblock'
    case 'reorg':
      return `${notified.counts.get('reorged') ?? 0} nonces followed again until sealed`
    case 'rpcError':
      if (rule.method !== 'eth_estimateGas') return outcomes(touched)
      return `estimated again; ${countEnded(reported, 'PREPARE_REVERTED')} ended as never executed`
    default:
      return touched.length === 0 ? 'read again' : outcomes(touched)
  }
}

function countEnded(reported: readonly ReportedItem[], code: string): number {
  return reported.filter((said) => said.outcome === 'notExecuted' && said.why.startsWith(code)).length
}

/** Results of the transactions, most frequent first. The fault need not be the only cause. */
function outcomes(touched: readonly Touched[]): string {
  const counts = new Map<string, number>()
  for (const one of touched) {
    const outcome = outcomeOf(one)
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a)
  return sorted.map(([outcome, count]) => `${count} ${outcome}`).join(', ')
}

function outcomeOf({ entry, record, said }: Touched): string {
  if (said?.outcome === 'notExecuted') return 'ended as never executed'
  if (said?.outcome !== 'landed') return 'not landed'
  if (said.nonce !== entry.nonce) return 'signed again for another nonce'
  if (said.hash !== entry.hash) return 'landed with a higher bid'
  return record.rebroadcasts > 0 ? 'sent again' : 'landed as they were'
}
