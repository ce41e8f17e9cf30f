import type { Address, Hash } from 'viem'
import { type ChainKey, chainName, type LaneKey, laneName } from '../../types/store.js'
import type { Prepared } from './connection.js'

/** The numbers by which a file knows a lane and its chain. */
export type LaneRow = { readonly lane: number; readonly chain: number }

export type Keys = {
  /** Undefined where nobody has named it yet. */
  findChain(prepared: Prepared, chain: ChainKey): number | undefined
  findLane(prepared: Prepared, lane: LaneKey): LaneRow | undefined
  /** Makes it where it is missing: in a transaction for writing. */
  lane(prepared: Prepared, lane: LaneKey): LaneRow
  /** A transaction that may have made some was undone. */
  forget(): void
}

/** Remembers the numbers: a lane that has one keeps it for ever. */
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

/** Any text, as one that SQLite does not cut off at a NUL, nor takes for another one. */
export function textOf(id: string): string {
  return JSON.stringify(id).slice(1, -1)
}

export function idOf(text: string): string {
  return JSON.parse(`"${text}"`) as string
}
