import type { Address, Hash } from 'viem'
import { type ChainKey, chainName, type LaneKey, laneName } from '../../types/store.js'
import type { Prepared } from './connection.js'

/** The row numbers of a lane and its chain in a file. */
export type LaneRow = { readonly lane: number; readonly chain: number }

export type Keys = {
  /** Undefined if the chain is not stored yet. */
  findChain(prepared: Prepared, chain: ChainKey): number | undefined
  findLane(prepared: Prepared, lane: LaneKey): LaneRow | undefined
  /** Inserts the lane if it is missing. Only in a write transaction. */
  lane(prepared: Prepared, lane: LaneKey): LaneRow
  /** Called when a transaction that may have inserted some was rolled back. */
  forget(): void
}

/** Caches row numbers: a lane keeps its number for ever. */
export function createKeys(): Keys {
  const chains = new Map<string, number>()
  const lanes = new Map<string, LaneRow>()

  function findChain(prepared: Prepared, chain: ChainKey): number | undefined {
    const name = chainName(chain)
    const known = chains.get(name)
    if (known !== undefined) return known
    const row = prepared.chain.get(chain.chainId, chain.genesisHash) as { key: number } | undefined
    if (row) chains.set(name, row.key)
    return row?.key
  }

  function findLane(prepared: Prepared, lane: LaneKey): LaneRow | undefined {
    const name = laneName(lane)
    const known = lanes.get(name)
    if (known !== undefined) return known
    const chain = findChain(prepared, lane)
    if (chain === undefined) return undefined
    const row = prepared.lane.get(chain, lane.address) as { key: number } | undefined
    if (row === undefined) return undefined
    const found = { lane: row.key, chain }
    lanes.set(name, found)
    return found
  }

  return {
    findChain,
    findLane,
    lane(prepared, lane) {
      const found = findLane(prepared, lane)
      if (found) return found
      prepared.addChain.run(lane.chainId, lane.genesisHash)
      prepared.addLane.run(findChain(prepared, lane), lane.address)
      return findLane(prepared, lane) as LaneRow
    },
    forget() {
      chains.clear()
      lanes.clear()
    },
  }
}

export type HeldRow = {
  readonly chainId: number
  readonly genesis: string
  readonly address: string
  readonly epoch: number
}

export function laneOf({ chainId, genesis, address }: HeldRow): LaneKey {
  return { chainId, genesisHash: genesis as Hash, address: address as Address }
}

/** Encodes any text so that SQLite neither truncates it at a NUL nor confuses it with another one. */
export function textOf(id: string): string {
  return JSON.stringify(id).slice(1, -1)
}

export function idOf(text: string): string {
  return JSON.parse(`"${text}"`) as string
}
