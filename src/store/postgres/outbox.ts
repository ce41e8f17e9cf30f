import type { Address, Hash } from 'viem'
import type { OutboxLease, OutboxVerbs, StoredDelivery } from '../../types/outbox.js'
import { transactionName } from '../../types/store.js'
import { decodeDelivery, encodeBody } from '../codec.js'
import { outboxLost } from '../leaseLost.js'
import type { Context } from './context.js'
import { lines } from './sql/lists.js'

/** The outbox methods. Each is one statement, unless the name is new. */
export function outboxVerbs({ database, sql }: Context): OutboxVerbs {
  async function take(
    name: string,
    holder: string,
    ttlMs: number,
  ): Promise<OutboxLease | 'held' | 'missing'> {
    const [row] = await database.change({ text: sql.takeOutbox, values: [name, holder, ttlMs] })
    if (row === undefined) return 'missing'
    return row.epoch === null ? 'held' : { name, epoch: Number(row.epoch), holder }
  }

  return {
    async takeOutbox(name, holder, ttlMs) {
      let taken = await take(name, holder, ttlMs)
      if (taken === 'missing') {
        await database.change({ text: sql.addOutbox, values: [name] })
        taken = await take(name, holder, ttlMs)
      }
      return typeof taken === 'string' ? undefined : taken
    },
    async releaseOutbox({ name, epoch, holder }) {
      await database.change({ text: sql.releaseOutbox, values: [name, epoch, holder] })
    },
    async writeOutbox({ name, epoch, holder }, { read, deliveries }) {
      const puts = latestOf(deliveries)
      const values = [
        name,
        epoch,
        holder,
        read.map(({ lane }) => lane.chainId),
        read.map(({ lane }) => lane.genesisHash),
        read.map(({ lane }) => lane.address),
        read.map(({ revision }) => revision),
        puts.map(({ chain }) => chain.chainId),
        puts.map(({ chain }) => chain.genesisHash),
        puts.map(({ id }) => id),
        puts.map(({ state }) => state),
        lines(puts.map(encodeBody)),
      ]
      const rows = await database.change({ text: sql.writeOutbox, values })
      if (rows.length === 0) throw outboxLost()
    },
    async readOutbox(name) {
      // The lanes that are behind are read first. A lane written in between is behind the next time.
      const lanes = await database.read({ text: sql.lanesBehind, values: [name] })
      const [row] = await database.read({ text: sql.outboxState, values: [name] })
      return {
        isKnown: row?.written === true,
        isHeld: row?.is_held === true,
        behind: lanes.map((lane) => ({
          lane: {
            chainId: Number(lane.chain_id),
            genesisHash: lane.genesis_hash as Hash,
            address: lane.address as Address,
          },
          revision: Number(lane.revision),
          read: Number(lane.read),
        })),
        open: Number(row?.open ?? 0),
        dead: Number(row?.dead ?? 0),
      }
    },
    async deliveries(name, by) {
      const statement =
        'state' in by
          ? { text: sql.deliveriesIn, values: [name, by.state, by.limit] }
          : { text: sql.deliveriesOf, values: [name, by.chain.chainId, by.chain.genesisHash, [...by.ids]] }
      return (await database.read(statement)).map(({ body }) => decodeDelivery(String(body)))
    },
  }
}

/** The last delivery of each transaction, because one statement may touch a row only once. */
function latestOf(deliveries: readonly StoredDelivery[]): readonly StoredDelivery[] {
  return [...new Map(deliveries.map((one) => [transactionName(one.chain, one.id), one])).values()]
}
