import type { Hash } from 'viem'
import type { ReportedLane } from '../../types/laneReports.js'
import type { LaneKey, Lease, Store } from '../../types/store.js'
import { decodeReport, encodeBody } from '../codec.js'
import { laneLost } from '../leaseLost.js'
import type { Prepared } from './connection.js'
import { type HeldRow, type Keys, type LaneRow, laneOf } from './keys.js'

export type LaneRecord = {
  readonly epoch: number
  readonly holder: string | null
  readonly cursor: number | null
  readonly sequence: number
  readonly revision: number
}

export function laneRecord(prepared: Prepared, lane: number): LaneRecord {
  return prepared.laneState.get(lane) as LaneRecord
}

export function chains(
  prepared: Prepared,
  { chainId, genesisHash }: Parameters<Store['chains']>[0],
): readonly Hash[] {
  if (genesisHash !== undefined) prepared.addFirstChain.run(chainId, genesisHash)
  return (prepared.chainsOf.all(chainId) as { genesis: Hash }[]).map(({ genesis }) => genesis)
}

export function acquire(prepared: Prepared, keys: Keys, lane: LaneKey, holder: string, ttlMs: number) {
  const { lane: key } = keys.lane(prepared, lane)
  if (prepared.acquire.run(holder, ttlMs, key).changes === 0) return undefined
  return { lane, epoch: laneRecord(prepared, key).epoch, holder }
}

export function renew(prepared: Prepared, holder: string, ttlMs: number): readonly Lease[] {
  prepared.renew.run(ttlMs, holder)
  const rows = prepared.held.all(holder) as HeldRow[]
  return rows.map((row) => ({ lane: laneOf(row), epoch: row.epoch, holder }))
}

export function release(prepared: Prepared, keys: Keys, { lane, epoch, holder }: Lease): void {
  const row = keys.findLane(prepared, lane)
  if (row) prepared.release.run(row.lane, epoch, holder)
}

export function putReports(prepared: Prepared, keys: Keys, reports: Parameters<Store['report']>[0]): void {
  for (const { lease, report } of reports) {
    const row = keys.findLane(prepared, lease.lane)
    if (row) prepared.putReport.run(encodeBody(report), lease.epoch, row.lane, lease.holder)
  }
}

export function reportsOf(
  prepared: Prepared,
  keys: Keys,
  lanes: readonly LaneKey[],
): readonly ReportedLane[] {
  return lanes.flatMap((lane) => {
    const row = keys.findLane(prepared, lane)
    if (row === undefined) return []
    const { report, isHeld } = prepared.reportOf.get(row.lane) as {
      readonly report: string | null
      readonly isHeld: number
    }
    return [{ lane, isHeld: isHeld === 1, report: report === null ? undefined : decodeReport(report) }]
  })
}

/** P7: checked in the same transaction as the guarded write. */
export function fenced(
  prepared: Prepared,
  keys: Keys,
  lease: Lease,
): LaneRow & { readonly record: LaneRecord } {
  const row = keys.findLane(prepared, lease.lane)
  const record = row && laneRecord(prepared, row.lane)
  if (row && record && record.epoch === lease.epoch && record.holder === lease.holder)
    return { ...row, record }
  throw laneLost()
}
