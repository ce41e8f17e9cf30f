import { NonceMap } from '../ledger/nonceMap.js'

/**
 * - `new`: offered, never sent to this endpoint.
 * - `lost`: missing at the endpoint, or its bytes were replaced: it is sent again.
 * - `inFlight`: in a request that is open.
 * - `taken`: the endpoint answered that it has it.
 * - `unanswered`: its request ended without an answer. Only a count can say whether it arrived.
 * - `refused`: the endpoint does not take these bytes. Other bytes have to be offered.
 */
export type SegmentState = 'new' | 'lost' | 'inFlight' | 'taken' | 'unanswered' | 'refused'

/** How the newest copy of a nonce left. One for all nonces of a request, as there are many. */
export type Sending = {
  /** 0: it has never left. */
  readonly request: number
  readonly atMs: number
  /** Refreshes and sealed blocks that had been seen by then. */
  readonly refresh: number
  readonly sealed: number
  /** The account's `latest` count: those between were at the endpoint with it. */
  readonly latest: number
}

const NEVER_SENT: Sending = { request: 0, atMs: 0, refresh: 0, sealed: 0, latest: 0 }

/** When a request ended. One for all nonces of it. */
export type AnsweredAt = { readonly atMs: number }

const NEVER_ANSWERED: AnsweredAt = { atMs: 0 }

/** One nonce, as one endpoint has been sent it. The word is TCP's: a numbered part of an ordered stream. */
export type Segment = {
  readonly nonce: number
  /** The size of its bytes in a request, in characters. */
  size: number
  /** Names its bytes, where they have a name: the same ones need no second copy. */
  bytes: string | undefined
  state: SegmentState
  sent: Sending
  answered: AnsweredAt
  /** It is known to be missing at the endpoint, until a copy is taken. */
  missed: boolean
  /** How often it was found missing although the endpoint had taken it, or had had the time to. */
  losses: number
  /**
   * It was at the endpoint while a lower nonce was missing, which explains why it may be missing itself: `kept` within the
   * gap budget, where the endpoint is believed to have it still, and `beyond` above that.
   */
  behindGap: 'kept' | 'beyond' | undefined
  /** It is to be sent whatever is acknowledged: its bytes are other ones than before. */
  forced: boolean
  /** The endpoint said that other bytes are at this nonce: another copy of these changes nothing by itself. */
  occupied: boolean
  /** Another endpoint was sent the same bytes after the newest copy left here, since this one had not brought it. */
  sentElsewhere: boolean
}

/** The nonces of one account at one endpoint: what is sent, what is answered and what is acknowledged. */
export type Sequence = {
  readonly segments: NonceMap<Segment>
  /** All below is used in sealed blocks. */
  latest: number
  /** All below is in a body, sealed or pre-confirmed. */
  confirmedTo: number
  /** The endpoint's `pending` count, where that includes the mempool. May fall. */
  countedTo: number
  /** All below is acknowledged by one kind of evidence or another. */
  acknowledgedTo: number
  /** All that was sent to this endpoint lies below it. */
  sentTo: number
  /** All that was offered lies below it. */
  offeredTo: number
  /** The lowest nonce that is neither confirmed nor below one that was sent. */
  readonly next: number
  /** All offered nonces lie below it, and all that is confirmed. */
  readonly end: number
  /** No nonce below it is marked `lost`. */
  lostFrom: number
  /** Nonces of `lost` segments, below the acknowledgement too. */
  lost: number
  /** Nonces from the acknowledgement on that may be at the endpoint and are not acknowledged. */
  outstanding: number
  /** Those of them whose request ended without an answer. */
  unanswered: number
  /** Nonces from the acknowledgement on that are known to be missing at the endpoint. */
  missing: number
  /** All below is acknowledged or taken. To be read through `frontierOf`. */
  frontier: number
}

export function createSequence(floor: number): Sequence {
  return {
    segments: new NonceMap(),
    latest: floor,
    confirmedTo: floor,
    countedTo: floor,
    acknowledgedTo: floor,
    sentTo: floor,
    offeredTo: floor,
    // A count may have been far too high: what was concluded from it ends with it.
    get next() {
      return Math.max(this.sentTo, this.confirmedTo)
    },
    get end() {
      return Math.max(this.offeredTo, this.next)
    },
    lostFrom: floor,
    lost: 0,
    outstanding: 0,
    unanswered: 0,
    missing: 0,
    frontier: floor,
  }
}

const isOutstanding = ({ state }: Segment): boolean =>
  state === 'inFlight' || state === 'taken' || state === 'unanswered'

function tally(sequence: Sequence, segment: Segment, by: 1 | -1): void {
  if (isOutstanding(segment)) sequence.outstanding += by
  if (segment.state === 'unanswered') sequence.unanswered += by
  if (segment.missed) sequence.missing += by
}

export function setState(sequence: Sequence, segment: Segment, state: SegmentState): void {
  const before = segment.state
  if (before === state) return
  const counts = segment.nonce >= sequence.acknowledgedTo
  if (counts) tally(sequence, segment, -1)
  segment.state = state
  if (state === 'lost' || state === 'refused') segment.missed ||= !segment.forced
  else if (state !== 'inFlight' && state !== 'unanswered') segment.missed = false
  if (counts) tally(sequence, segment, 1)
  if (before === 'taken') sequence.frontier = Math.min(sequence.frontier, segment.nonce)
  if (before === 'lost') sequence.lost--
  if (state !== 'lost') return
  sequence.lost++
  sequence.lostFrom = Math.min(sequence.lostFrom, segment.nonce)
}

/** Lost, and no other bytes of the nonce are at the endpoint either. */
export function setMissing(sequence: Sequence, segment: Segment): void {
  setState(sequence, segment, 'lost')
  if (segment.missed) return
  segment.missed = true
  if (segment.nonce >= sequence.acknowledgedTo) sequence.missing++
}

/**
 * A nonce that is to be at this endpoint: new, or one whose bytes are others than before. The same bytes are sent once more
 * where the endpoint did not take them, or had others; otherwise what is lost is sent again anyway.
 */
export function offer(sequence: Sequence, nonce: number, size: number, bytes?: string): void {
  if (nonce < sequence.confirmedTo) return
  const known = sequence.segments.get(nonce)
  sequence.offeredTo = Math.max(sequence.offeredTo, nonce + 1)
  if (known !== undefined) {
    const isSame = bytes !== undefined && bytes === known.bytes
    known.size = size
    known.bytes = bytes
    if (known.state === 'new') return
    if (isSame && known.state !== 'refused' && !known.occupied) return
    known.forced = true
    known.occupied = false
    known.losses = 0
    setState(sequence, known, 'lost')
    return
  }
  const segment: Segment = {
    nonce,
    size,
    bytes,
    state: 'new',
    sent: NEVER_SENT,
    answered: NEVER_ANSWERED,
    missed: false,
    losses: 0,
    behindGap: undefined,
    forced: false,
    occupied: false,
    sentElsewhere: false,
  }
  sequence.segments.set(nonce, segment)
  if (nonce >= sequence.next) return
  segment.forced = true
  setState(sequence, segment, 'lost')
}

/** The endpoint is not to have this nonce from here. What was sent of it is not taken back. */
export function forget(sequence: Sequence, nonce: number): void {
  const segment = sequence.segments.get(nonce)
  if (segment === undefined) return
  setState(sequence, segment, 'new')
  sequence.segments.delete(nonce)
  sequence.frontier = Math.min(sequence.frontier, nonce)
}

/** Takes over what bodies and the `pending` count say. Returns where the acknowledgement stood before. */
export function acknowledge(
  sequence: Sequence,
  { latest, confirmedTo, countedTo }: Pick<Sequence, 'latest' | 'confirmedTo' | 'countedTo'>,
): number {
  const before = sequence.acknowledgedTo
  const to = Math.max(confirmedTo, countedTo)
  const { segments } = sequence
  // The tallies count from the acknowledgement on, so that each nonce which it passes is taken out, or put back.
  for (const segment of segments.between(before, to)) retally(sequence, segment, -1)
  for (const segment of segments.between(to, before)) retally(sequence, segment, 1)
  sequence.acknowledgedTo = to
  sequence.latest = latest
  sequence.countedTo = countedTo
  sequence.frontier = to < before ? Math.min(sequence.frontier, to) : Math.max(sequence.frontier, to)
  for (const { nonce, state } of segments.between(sequence.confirmedTo, confirmedTo)) {
    if (state === 'lost') sequence.lost--
    segments.delete(nonce)
  }
  sequence.confirmedTo = confirmedTo
  return before
}

/** A count says nothing any more of this nonce and of those above it. */
export function uncount(sequence: Sequence, from: number): void {
  if (from < sequence.countedTo) acknowledge(sequence, { ...sequence, countedTo: from })
}

function retally(sequence: Sequence, segment: Segment, by: 1 | -1): void {
  tally(sequence, segment, by)
  segment.behindGap = undefined
}

/** All below it is acknowledged or taken: the endpoint lacks nothing there, as far as its answers go. */
export function frontierOf(sequence: Sequence): number {
  const { segments, next } = sequence
  let nonce = Math.max(sequence.frontier, sequence.acknowledgedTo)
  while (nonce < next && segments.get(nonce)?.state === 'taken') nonce++
  sequence.frontier = nonce
  return nonce
}

/** The `lost` nonces in ascending order, as long as `use` returns true. Acknowledged ones need no second copy. */
export function eachLost(sequence: Sequence, use: (segment: Segment) => boolean): void {
  let left = sequence.lost
  let lowest: number | undefined
  for (const segment of sequence.segments.between(sequence.lostFrom, sequence.next)) {
    if (left === 0) break
    const { nonce } = segment
    if (segment.state !== 'lost') continue
    left--
    if (nonce < sequence.acknowledgedTo && !segment.forced) {
      setState(sequence, segment, 'taken')
      continue
    }
    lowest ??= nonce
    if (!use(segment)) break
  }
  sequence.lostFrom = lowest ?? Math.max(sequence.lostFrom, sequence.confirmedTo)
  if (sequence.lost === 0) sequence.lostFrom = sequence.next
}
