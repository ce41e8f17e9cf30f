import type { Transaction } from './data.js'

/** Stages with a duration: from their event until the next one. */
export const PHASES = ['queued', 'signed', 'accepted', 'preconfirmed'] as const
type PhaseName = (typeof PHASES)[number]

/** A stage of a transaction at a nonce, with its start and end. */
export type Phase = {
  readonly stage: PhaseName
  readonly nonce: number
  readonly from: number
  readonly to: number
}

/** The final point of a transaction: sealed, or ended without a block. */
export type Rest = { readonly kind: 'sealed' | 'ended'; readonly at: number; readonly nonce: number }

const ENDS: ReadonlySet<string> = new Set(['failed', 'cancelled', 'superseded'])

/**
 * The bars of one transaction. A transaction that waits for a nonce is drawn at its later nonce; one that
 * never gets a nonce is not drawn. An open transaction lasts until the end of the recording.
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

/** The nonce that a waiting transaction gets next. */
function nonceAfter(entries: Transaction['entries'], index: number): number | undefined {
  return entries.slice(index).find(({ event, nonce }) => event !== 'foreign' && nonce !== undefined)?.nonce
}

function stageAfter(event: string, stage: PhaseName | undefined): PhaseName | 'sealed' | 'ended' | undefined {
  if ((PHASES as readonly string[]).includes(event)) return event as PhaseName
  if (event === 'sealed') return 'sealed'
  if (ENDS.has(event)) return 'ended'
  // A foreign transaction has its nonce: it waits for another one.
  if (event === 'foreign') return 'queued'
  // The block of the transaction left the chain, but the network may still have its bytes.
  return event === 'reorged' ? 'accepted' : stage
}

/** Maximum rows to draw: more rows than lines on a screen add no information. */
const ROWS_MAX = 1_500

/**
 * Selects the transactions to draw: all in view if they are few, else the ones with problems and an even
 * selection of the others. Zooming in shows all.
 */
export function rowsInView(
  inView: readonly Transaction[],
  marked: ReadonlySet<Transaction>,
  max = ROWS_MAX,
): readonly Transaction[] {
  if (inView.length <= max) return inView
  const first = thinned(
    inView.filter((transaction) => marked.has(transaction)),
    Math.floor(max / 2),
  )
  const rest = thinned(
    inView.filter((transaction) => !marked.has(transaction)),
    max - first.length,
  )
  return [...first, ...rest]
}

/** An even selection of at most `max` items. */
export function thinned<item>(all: readonly item[], max: number): readonly item[] {
  if (all.length <= max) return all
  return Array.from({ length: max }, (_, index) => all[Math.floor((index * all.length) / max)] as item)
}
