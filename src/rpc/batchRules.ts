import type { EndpointProfile } from './profile.js'

/** An observation about the batches that an endpoint accepts. */
export type BatchObservation =
  /** Every call of the batch had an answer. */
  | { readonly kind: 'batchAnswered'; readonly size: number }
  /** The endpoint refused the batch because it was a batch, or because of its size. */
  | { readonly kind: 'batchRefused'; readonly size: number }
  /** The batch had no answer, although a single call gets one. The batch may have been lost. */
  | { readonly kind: 'batchLost'; readonly size: number }
  /** Some of the calls had no answer: they were lost, or the endpoint truncates batches. */
  | { readonly kind: 'batchBroken'; readonly size: number }
  /**
   * The endpoint refused the batch with a rate limit. An endpoint that counts calls may never accept one of
   * this size.
   */
  | { readonly kind: 'batchLimited'; readonly size: number }

/** Observations about batches that do not suffice for a decision yet. */
export type BatchEvidence = {
  /** The largest answered batch, below the smallest size that counts as refused. */
  readonly taken: number
  /**
   * Number of consecutive batches that were lost, or answered in part, although they were no larger than an
   * answered one.
   */
  readonly lost: number
  /** The size of the smallest of them. An answer to a batch of this size ends the run. */
  readonly lostSize: number
  /** Number of consecutive batches that were refused with a rate limit. */
  readonly limited: number
  /** Number of consecutive answered batches of the largest size. */
  readonly full: number
  /** Number of full batches after which twice the size is tried. */
  readonly fullWanted: number
}

export const noBatchEvidence: BatchEvidence = {
  taken: 0,
  lost: 0,
  lostSize: 0,
  limited: 0,
  full: 0,
  fullWanted: 8,
}

type Batch = EndpointProfile['batch']
type BatchState = { readonly batch: Batch; readonly evidence: BatchEvidence }

/** A size that was answered before counts as refused only after this many consecutive losses. */
const LOST_MAX = 3
/** A rate limit passes. One that recurs for the same batch may not. */
const LIMITED_MAX = 2
/** A size that keeps being refused is tried less and less often; in the end after this many full batches. */
const FULL_WANTED_MAX = 1_024

/**
 * Halves the largest batch size after a refusal, and doubles it after a run of full batches, because a
 * refusal may be temporary and limits change. Pure.
 */
export function reduceBatch({ batch, evidence }: BatchState, { kind, size }: BatchObservation): BatchState {
  switch (kind) {
    case 'batchAnswered':
      return answered({ batch, evidence }, size)
    case 'batchRefused':
      return halved({ batch, evidence }, size)
    case 'batchLost':
    case 'batchBroken': {
      const lost = evidence.lost + 1
      const mayBeLost = kind === 'batchBroken' || size <= evidence.taken
      return mayBeLost && lost < LOST_MAX
        ? {
            batch,
            evidence: { ...evidence, lost, lostSize: lost === 1 ? size : Math.min(size, evidence.lostSize) },
          }
        : halved({ batch, evidence }, size)
    }
    case 'batchLimited': {
      const limited = evidence.limited + 1
      return limited < LIMITED_MAX
        ? { batch, evidence: { ...evidence, limited } }
        : halved({ batch, evidence }, size)
    }
    default:
      return kind satisfies never
  }
}

function answered({ batch, evidence }: BatchState, size: number): BatchState {
  const { sizeMax } = batch
  const isAbove = sizeMax !== undefined && size > sizeMax
  const full = size === sizeMax ? evidence.full + 1 : evidence.full
  const grows = full >= evidence.fullWanted
  const next: BatchEvidence = {
    ...evidence,
    taken: Math.max(evidence.taken, size),
    // A smaller batch proves nothing about the larger ones that were lost.
    lost: size >= evidence.lostSize ? 0 : evidence.lost,
    limited: size > 1 ? 0 : evidence.limited,
    full: grows ? 0 : full,
  }
  const usable = size > 1 || (grows && batch.usable === false) ? true : batch.usable
  if (isAbove) return { batch: { usable, sizeMax: size }, evidence: next }
  return { batch: { usable, sizeMax: grows && sizeMax ? sizeMax * 2 : sizeMax }, evidence: next }
}

function halved({ batch, evidence }: BatchState, size: number): BatchState {
  const half = Math.max(1, Math.floor(size / 2))
  // If a size was tried after success with smaller ones and failed, it is tried again later than last time.
  const wasTried = batch.sizeMax !== undefined && size === batch.sizeMax && size > evidence.taken
  return {
    batch: {
      usable: half === 1 ? false : batch.usable,
      sizeMax: Math.min(half, batch.sizeMax ?? half),
    },
    evidence: {
      taken: Math.min(half, evidence.taken),
      lost: 0,
      lostSize: 0,
      limited: 0,
      full: 0,
      fullWanted: wasTried ? Math.min(FULL_WANTED_MAX, evidence.fullWanted * 2) : evidence.fullWanted,
    },
  }
}
