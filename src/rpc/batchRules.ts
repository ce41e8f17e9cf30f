import type { EndpointProfile } from './profile.js'

/** What requests have shown of the batches that an endpoint takes. */
export type BatchObservation =
  /** Every call of a batch had an answer. */
  | { readonly kind: 'batchAnswered'; readonly size: number }
  /** The endpoint refused the batch for being one, or for its size. */
  | { readonly kind: 'batchRefused'; readonly size: number }
  /** The batch had no answer, while a call alone has one. It may have got lost. */
  | { readonly kind: 'batchLost'; readonly size: number }
  /** A part of the calls had no answer: they may have got lost, or the endpoint breaks off. */
  | { readonly kind: 'batchBroken'; readonly size: number }
  /** The batch was refused for the rate of requests: an endpoint that counts calls may never take one of this size. */
  | { readonly kind: 'batchLimited'; readonly size: number }

/** What has been seen of batches but does not suffice yet. */
export type BatchEvidence = {
  /** The largest batch that was answered, below any that counts as refused. */
  readonly taken: number
  /** Batches in a row that were lost although they were no larger than one that was answered, or answered in part. */
  readonly lost: number
  /** The smallest of them: an answer to one of its size ends the row. */
  readonly lostSize: number
  /** Batches in a row that were refused for the rate. */
  readonly limited: number
  /** Batches of the largest size in a row that were answered. */
  readonly full: number
  /** So many of them, and twice the size is tried. */
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

/** A size that was answered before counts as refused only after so many losses in a row. */
const LOST_MAX = 3
/** A rate limit passes; one that comes again for the same batch may not. */
const LIMITED_MAX = 2
/** A size that keeps being refused is tried less and less often: after so many full batches in the end. */
const FULL_WANTED_MAX = 1_024

/**
 * The largest batch halves when one is refused, and doubles after a run of full ones: a refusal may have been a passing
 * one, and limits change. Pure.
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
    // A smaller batch says nothing of the larger ones that were lost.
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
  // A size that was tried because smaller ones had gone well is tried again later than the last time.
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
