import type { Address, Hash } from 'viem'
import { type LaneKey, type Lease, laneName, type Store } from '../../types/store.js'
import { decodeReport, encodeBody } from '../codec.js'
import { addLanes, type Context, nameOf } from './context.js'

/** Leases are columns of the lane's row, and their time is the database's: no two clocks are compared. */
export function leaseVerbs(
  context: Context,
): Pick<Store, 'chains' | 'acquire' | 'renew' | 'release' | 'report' | 'reports'> {
  const { database, sql, channel } = context

  async function take(lane: LaneKey, holder: string, ttlMs: number): Promise<Lease | 'held' | 'missing'> {
    const rows = await database.change({ text: sql.acquire, values: [...nameOf(lane), holder, ttlMs] })
    const [row] = rows
    if (row === undefined) return 'missing'
    return row.epoch === null ? 'held' : { lane, epoch: Number(row.epoch), holder }
  }

  return {
    async chains({ chainId, genesisHash }) {
      if (genesisHash !== undefined)
        await database.change({ text: sql.addFirstChain, values: [chainId, genesisHash] })
      const rows = await database.read({ text: sql.chainsOf, values: [chainId] })
      return rows.map((row) => row.genesis_hash as Hash)
    },
    async acquire(lane, holder, ttlMs) {
      let taken = await take(lane, holder, ttlMs)
      if (taken === 'missing') {
        await addLanes(context, [lane])
        taken = await take(lane, holder, ttlMs)
      }
      return typeof taken === 'string' ? undefined : taken
    },
    async renew(holder, ttlMs) {
      const rows = await database.change({ text: sql.renew, values: [holder, ttlMs] })
      return rows.map((row) => ({
        lane: {
          chainId: Number(row.chain_id),
          genesisHash: row.genesis_hash as Hash,
          address: row.address as Address,
        },
        epoch: Number(row.epoch),
        holder,
      }))
    },
    async report(reports) {
      if (reports.length === 0) return
      const leases = reports.map(({ lease }) => lease)
      const values = [
        leases.map(({ lane }) => lane.chainId),
        leases.map(({ lane }) => lane.genesisHash),
        leases.map(({ lane }) => lane.address),
        leases.map(({ epoch }) => epoch),
        leases.map(({ holder }) => holder),
        reports.map(({ report }) => encodeBody(report)),
      ]
      await database.change({ text: sql.report, values })
    },
    async reports(lanes) {
      const [first] = lanes
      if (first === undefined) return []
      const byAddress = new Map(lanes.map((lane) => [lane.address, lane]))
      const values = [first.chainId, first.genesisHash, [...byAddress.keys()]]
      const rows = await database.read({ text: sql.reports, values })
      return rows.map(({ address, report, is_held }) => ({
        lane: byAddress.get(address as Address) as LaneKey,
        isHeld: is_held === true,
        report: report === null ? undefined : decodeReport(String(report)),
      }))
    },
    async release({ lane, epoch, holder }) {
      const values = [...nameOf(lane), epoch, holder, channel, laneName(lane)]
      await database.change({ text: sql.release, values })
    },
  }
}
