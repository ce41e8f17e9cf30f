import type { Transaction } from './data.js'

/** Stages that last: from being told of until the next one. */
export const PHASES = ['queued', 'signed', 'accepted', 'preconfirmed'] as const
export type PhaseName = (typeof PHASES)[number]

/** A transaction stood at this stage, at this nonce, for this long. */
export type Phase = {
  readonly stage: PhaseName
  readonly nonce: number
  readonly from: number
  readonly to: number
}

/** Where a transaction came to rest: in a sealed block, or at an end without one. */
export type Rest = { readonly kind: 'sealed' | 'ended'; readonly at: number; readonly nonce: number }

const ENDS: ReadonlySet<string> = new Set(['failed', 'cancelled', 'superseded'])

/**
 * The bars of one transaction. What waits for a nonce is drawn at the one that it comes to; what has none to the end is
 * not drawn. What is still open lasts until the end of the recording.
 */
export function phasesOf({ entries }: Transaction, endedAt: number): { phases: Phase[]; rests: Rest[] } {
  const phases: Phase[] = []
  const rests: Rest[] = []
  let stage: PhaseName | undefined
  let nonce: number | undefined
  let from = 0

  const close = (to: number) => {
    if (stage !== undefined && nonce !== undefined)
      phases.push({ stage, nonce, from, to: Math.max(from, to) })
  }
  for (const [index, entry] of entries.entries()) {
    const next = stageAfter(entry.event, stage)
    const place = next === 'queued' ? nonceAfter(entries, index) : (entry.nonce ?? nonce)
    if (next === stage && place === nonce) continue
    close(entry.at)
    nonce = place
    from = entry.at
    const comesToRest = next === 'sealed' || next === 'ended'
    stage = comesToRest ? undefined : next
    if (comesToRest && nonce !== undefined) rests.push({ kind: next, at: entry.at, nonce })
  }
  close(endedAt)
  return { phases, rests }
}

/** What waits comes to the nonce that it is told of next. */
function nonceAfter(entries: Transaction['entries'], index: number): number | undefined {
  return entries.slice(index).find(({ event, nonce }) => event !== 'foreign' && nonce !== undefined)?.nonce
}

function stageAfter(event: string, stage: PhaseName | undefined): PhaseName | 'sealed' | 'ended' | undefined {
  if ((PHASES as readonly string[]).includes(event)) return event as PhaseName
  if (event === 'sealed') return 'sealed'
  if (ENDS.has(event)) return 'ended'
  // Something else has its nonce: it waits for another.
  if (event === 'foreign') return 'queued'
  // Its block is gone, its bytes are not.
  return event === 'reorged' ? 'accepted' : stage
}
