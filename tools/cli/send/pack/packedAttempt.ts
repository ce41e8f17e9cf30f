import type { Row } from '../file/rows.js'
import { lastAttempt, type Stored } from '../pay/standing.js'
import type { Pins } from './pins.js'
import { RANKS, stateIn } from './ranks.js'

/**
 * The stored transaction that decides the end of a row: the last attempt to send it alone, or a pack that has it.
 * All others have ended without execution, or reverted.
 */
export function packedAttempt(
  pins: Pins | undefined,
): (known: ReadonlyMap<string, Stored>) => (row: Row) => Stored | undefined {
  const packs = new Map<string, string[]>()
  for (const { pack, rows } of pins?.packs ?? []) {
    for (const id of rows) packs.set(id, [...(packs.get(id) ?? []), pack])
  }
  return (known) => {
    const alone = lastAttempt(known)
    return (row) => {
      let best = alone(row)
      for (const pack of packs.get(row.id) ?? []) {
        const stored = known.get(pack)
        if (stored !== undefined && (best === undefined || rankOf(stored) >= rankOf(best))) best = stored
      }
      return best
    }
  }
}

const rankOf = ({ stage, status }: Stored): number => RANKS[stateIn(stage, status === 'reverted')]
