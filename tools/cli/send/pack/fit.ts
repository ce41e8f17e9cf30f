import type { Row } from '../file/rows.js'

/** The node's judgement of a pack. Without `gas` the limit is estimated when the account can pay for it. */
export type Judgement =
  | { readonly ok: true; readonly gas: bigint | undefined }
  | { readonly ok: false; readonly why: string }

export type Judge = (rows: readonly Row[]) => Promise<Judgement>

export type FittedPack = { readonly rows: readonly Row[]; readonly gas: bigint | undefined }

/** Rows divided by the answers of the node: packs that would run now, and rows that fail in every pack. */
export type Fit = {
  readonly packs: readonly FittedPack[]
  readonly failing: readonly { readonly row: Row; readonly why: string }[]
}

/**
 * Finds the rows that make a pack fail by halving it, with about two judgements for each doubling of its size.
 * The others form one pack again. If no row fails alone, the pack was too large, and the halves stand for it.
 */
export async function fitPack(rows: readonly Row[], judge: Judge): Promise<Fit> {
  const found = await halve(rows, judge)
  if (found.failing.length === 0 || found.packs.length < 2) return found
  const good = found.packs.flatMap((pack) => pack.rows)
  const together = await judge(good)
  return together.ok ? { ...found, packs: [{ rows: good, gas: together.gas }] } : found
}

async function halve(rows: readonly Row[], judge: Judge): Promise<Fit> {
  const judged = await judge(rows)
  if (judged.ok) return { packs: [{ rows, gas: judged.gas }], failing: [] }
  const [only] = rows
  if (only !== undefined && rows.length === 1) return { packs: [], failing: [{ row: only, why: judged.why }] }
  const middle = Math.ceil(rows.length / 2)
  const halves = await Promise.all([halve(rows.slice(0, middle), judge), halve(rows.slice(middle), judge)])
  return {
    packs: halves.flatMap(({ packs }) => packs),
    failing: halves.flatMap(({ failing }) => failing),
  }
}
