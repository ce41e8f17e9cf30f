import type { Address, Hash } from 'viem'
import type {
  DeliveriesBy,
  OutboxLane,
  OutboxLease,
  OutboxState,
  OutboxVerbs,
  OutboxWrite,
  StoredDelivery,
} from '../../types/outbox.js'
import { decodeDelivery, encodeBody } from '../codec.js'
import { outboxLost } from '../leaseLost.js'
import type { Connection, Prepared } from './connection.js'
import { type Keys, textOf } from './keys.js'

type OutboxRow = {
  readonly key: number
  readonly epoch: number
  readonly holder: string | null
  readonly written: number
  readonly isHeld: number
}

type BehindRow = {
  readonly chainId: number
  readonly genesis: Hash
  readonly address: Address
  readonly revision: number
  readonly read: number
}

type Body = { readonly body: string }

export function outboxVerbs(connection: Connection, keys: Keys): OutboxVerbs {
  return {
    takeOutbox: (name, holder, ttlMs) => connection.write((sql) => take(sql, name, holder, ttlMs)),
    async releaseOutbox({ name, epoch, holder }) {
      await connection.write((sql) => sql.releaseOutbox.run(textOf(name), epoch, holder))
    },
    writeOutbox: (lease, change) => connection.write((sql) => write(sql, keys, lease, change)),
    readOutbox: (name) => connection.read((sql) => stateOf(sql, name)),
    deliveries: (name, by) => connection.read((sql) => deliveriesOf(sql, keys, name, by)),
  }
}

function rowOf(prepared: Prepared, name: string): OutboxRow | undefined {
  return prepared.outbox.get(textOf(name)) as OutboxRow | undefined
}

function take(prepared: Prepared, name: string, holder: string, ttlMs: number): OutboxLease | undefined {
  prepared.addOutbox.run(textOf(name))
  if (prepared.takeOutbox.run(holder, ttlMs, textOf(name)).changes === 0) return undefined
  return { name, epoch: (rowOf(prepared, name) as OutboxRow).epoch, holder }
}

function write(prepared: Prepared, keys: Keys, lease: OutboxLease, { read, deliveries }: OutboxWrite): void {
  const row = rowOf(prepared, lease.name)
  if (row === undefined || row.epoch !== lease.epoch || row.holder !== lease.holder) throw outboxLost()
  prepared.wroteOutbox.run(row.key)
  for (const { lane, revision } of read) {
    const found = keys.findLane(prepared, lane)
    if (found) prepared.readLane.run(row.key, found.lane, revision)
  }
  for (const delivery of deliveries) {
    const chain = keys.findChain(prepared, delivery.chain)
    if (chain !== undefined)
      prepared.putDelivery.run(chain, textOf(delivery.id), row.key, delivery.state, encodeBody(delivery))
  }
}

function stateOf(prepared: Prepared, name: string): OutboxState {
  const row = rowOf(prepared, name)
  // 0 is the key of no row.
  const key = row?.key ?? 0
  const behind = (prepared.behindLanes.all(key) as BehindRow[]).map(
    ({ chainId, genesis, address, revision, read }): OutboxLane => ({
      lane: { chainId, genesisHash: genesis, address },
      revision,
      read,
    }),
  )
  const count = (state: StoredDelivery['state']) =>
    (prepared.countDeliveries.get(key, state) as { count: number }).count
  return {
    isKnown: row?.written === 1,
    isHeld: row?.isHeld === 1,
    behind,
    open: count('open'),
    dead: count('dead'),
  }
}

function deliveriesOf(
  prepared: Prepared,
  keys: Keys,
  name: string,
  by: DeliveriesBy,
): readonly StoredDelivery[] {
  const key = rowOf(prepared, name)?.key
  if (key === undefined) return []
  if ('state' in by)
    return (prepared.deliveriesIn.all(key, by.state, by.limit) as Body[]).map(({ body }) =>
      decodeDelivery(body),
    )
  const chain = keys.findChain(prepared, by.chain)
  if (chain === undefined) return []
  return by.ids.flatMap((id) => {
    const row = prepared.deliveryOf.get(chain, textOf(id), key) as Body | undefined
    return row === undefined ? [] : [decodeDelivery(row.body)]
  })
}
