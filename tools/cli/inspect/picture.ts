import type { Colors } from '../shared/output.js'
import type { Look } from './look.js'

type Cell = { readonly nonce: number; readonly kind: keyof typeof KINDS }

// Each kind has its own sign, so that the picture is also readable without colours.
const KINDS = {
  used: { sign: '█', says: 'in a sealed block' },
  preconfirmed: { sign: '▓', says: 'pre-confirmed' },
  waiting: { sign: '▒', says: 'waits in the pool' },
  gapped: { sign: '░', says: 'waits behind a gap' },
  hole: { sign: '×', says: 'missing' },
  next: { sign: '·', says: 'next' },
} as const

const BEFORE = 4
const WIDTH_MAX = 64

/** The nonces around the head, one cell each. */
export function drawLane(look: Look, colors: Colors): string {
  const cells = cellsOf(look)
  const paint: Record<Cell['kind'], (text: string) => string> = {
    used: colors.green,
    preconfirmed: colors.cyan,
    waiting: colors.yellow,
    gapped: colors.magenta,
    hole: colors.red,
    next: colors.dim,
  }
  const [first, last] = [cells[0], cells.at(-1)]
  const line = cells.map(({ kind }) => paint[kind](KINDS[kind].sign)).join('')
  const kinds = [...new Set(cells.map(({ kind }) => kind))]
  const legend = kinds.map((kind) => `${paint[kind](KINDS[kind].sign)} ${KINDS[kind].says}`).join('   ')
  return `${first?.nonce} ${line} ${last?.nonce}\n${legend}\n`
}

/** From a few nonces below the head to the first free one, or as many as fit. */
function cellsOf({ counts, waiting = [], holes }: Look): readonly Cell[] {
  const latest = counts.latest ?? 0
  const pending = Math.max(latest, counts.pending ?? latest)
  const there = new Set(waiting.map(({ nonce }) => nonce))
  const missing = new Set(holes)
  const lowest = Math.min(...missing, Number.POSITIVE_INFINITY)
  const end = Math.max(pending, (waiting.at(-1)?.nonce ?? -1) + 1)
  const first = Math.max(0, latest - BEFORE)
  const kindOf = (nonce: number): Cell['kind'] => {
    if (nonce < latest) return 'used'
    if (missing.has(nonce)) return 'hole'
    if (there.has(nonce)) return nonce > lowest ? 'gapped' : 'waiting'
    return nonce < pending ? 'preconfirmed' : 'next'
  }
  const length = Math.min(WIDTH_MAX, end - first + 1)
  return Array.from({ length }, (_, index) => ({ nonce: first + index, kind: kindOf(first + index) }))
}
