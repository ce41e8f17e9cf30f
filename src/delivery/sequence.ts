import { NonceMap } from '../ledger/nonceMap.js'

/**
 * - `new`: offered, never sent to this endpoint.
 * - `lost`: missing at the endpoint, or its bytes were replaced: it is sent again.
 * - `inFlight`: in an open request.
 * - `taken`: the endpoint answered that it has the nonce.
 * - `unanswered`: its request ended without an answer. Only a count can show whether it arrived.
 * - `refused`: the endpoint does not accept these bytes. Other bytes have to be offered.
 */
export type SegmentState = 'new' | 'lost' | 'inFlight' | 'taken' | 'unanswered' | 'refused'

/**
 * The circumstances under which the newest copy of a nonce left. All nonces of a request share one object,
 * because they are many.
 */
export type Sending = {
  /** 0 if the nonce was never sent. */
  readonly request: number
  readonly atMs: number
  /** The numbers of refreshes and sealed blocks seen by then. */
  readonly refresh: number
  readonly sealed: number
  /**
   * The account's `latest` count at that time: the nonces in between were at the endpoint together with this
   * one.
   */
  readonly latest: number
}

const NEVER_SENT: Sending = { request: 0, atMs: 0, refresh: 0, sealed: 0, latest: 0 }

/** When a request ended. All nonces of the request share one object. */
export type AnsweredAt = { readonly atMs: number }

const NEVER_ANSWERED: AnsweredAt = { atMs: 0 }

/**
 * The state of one nonce at one endpoint. A segment is TCP's term for a numbered part of an ordered stream.
 */
export type Segment = {
  readonly nonce: number
  /** The size of its bytes in a request, in characters. */
  size: number
  /** Identifies its bytes, if they have a name: the same bytes need no second copy. */
  bytes: string | undefined
  state: SegmentState
  sent: Sending
  answered: AnsweredAt
  /** True if it is known to be missing at the endpoint, until a copy is accepted. */
  missed: boolean
  /** How often it was found missing although the endpoint had accepted it, or had had enough time to. */
  losses: number
  /**
   * The nonce was at the endpoint while a lower nonce was missing, which explains why it may be missing itself.
   * `kept`: within the gap budget, so the endpoint is believed to still have it. `beyond`: above the gap budget.
   */
  behindGap: 'kept' | 'beyond' | undefined
  /** The nonce has to be sent although it may be acknowledged, because its bytes have changed. */
  forced: boolean
  /**
   * The endpoint reported other bytes at this nonce: another copy of these bytes changes nothing by itself.
   */
  occupied: boolean
  /** The request of its newest copy ended without an answer. */
  silent: boolean
  /**
   * Another endpoint received the same bytes after the newest copy left here, because this endpoint made no
   * progress.
   */
  sentElsewhere: boolean
}

/** The nonces of one account at one endpoint: sent, answered and acknowledged. */
export type Sequence = {
  readonly segments: NonceMap<Segment>
  /** All nonces below are used in sealed blocks. */
  latest: number
  /** All nonces below are in a body, sealed or pre-confirmed. */
  confirmedTo: number
  /** The endpoint's `pending` count, if that includes the mempool. It may decrease. */
  countedTo: number
  /** All nonces below are acknowledged by some kind of evidence. */
  acknowledgedTo: number
  /** All nonces that were sent to this endpoint lie below it. */
  sentTo: number
  /** All nonces that were offered lie below it. */
  offeredTo: number
  /** The lowest nonce that is neither confirmed nor below one that was sent. */
  readonly next: number
  /** All nonces that are offered or confirmed lie below it. */
  readonly end: number
  /** No nonce below it is marked `lost`. */
  lostFrom: number
  /** The number of `lost` segments, including those below the acknowledgement. */
  lost: number
  /** Nonces from the acknowledgement on that may be at the endpoint and are not acknowledged. */
  outstanding: number
  /** The part of `outstanding` whose request ended without an answer. */
  unanswered: number
  /** Nonces from the acknowledgement on that are known to be missing at the endpoint. */
  missing: number
  /** Nonces whose answers were lost and which a count covers, until they are reported. */
  readonly counted: Pick<Segment, 'nonce' | 'bytes'>[]
  /** All nonces below are acknowledged or taken. Read it through `frontierOf`. */
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
    // Computed from values that no count changes: a count may have been far too high, and its effects end
    // with it.
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
    counted: [],
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

/** Marks the nonce as lost, with no other bytes of it at the endpoint either. */
export function setMissing(sequence: Sequence, segment: Segment): void {
  setState(sequence, segment, 'lost')
  if (segment.missed) return
  segment.missed = true
  if (segment.nonce >= sequence.acknowledgedTo) sequence.missing++
}

/**
 * Registers a nonce that has to be at this endpoint: a new one, or one whose bytes have changed. The same
 * bytes are sent once more if the endpoint did not accept them, or had others. Lost bytes are sent again in
 * any case.
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
    silent: false,
    sentElsewhere: false,
  }
  sequence.segments.set(nonce, segment)
  if (nonce >= sequence.next) return
  segment.forced = true
  setState(sequence, segment, 'lost')
}

/** Removes the nonce from this delivery. Copies that were already sent are not taken back. */
export function forget(sequence: Sequence, nonce: number): void {
  const segment = sequence.segments.get(nonce)
  if (segment === undefined) return
  setState(sequence, segment, 'new')
  sequence.segments.delete(nonce)
  sequence.frontier = Math.min(sequence.frontier, nonce)
}

/** Applies the state shown by bodies and the `pending` count. Returns the previous acknowledgement. */
export function acknowledge(
  sequence: Sequence,
  { latest, confirmedTo, countedTo }: Pick<Sequence, 'latest' | 'confirmedTo' | 'countedTo'>,
): number {
  const before = sequence.acknowledgedTo
  const to = Math.max(confirmedTo, countedTo)
  const { segments } = sequence
  // The tallies start at the acknowledgement, so each nonce that it passes is removed from them, or added
  // back.
  for (const segment of segments.between(before, to)) {
    retally(sequence, segment, -1)
    if (segment.nonce >= confirmedTo) noteCounted(sequence, segment)
  }
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

/** Discards the count for this nonce and those above it. */
export function uncount(sequence: Sequence, from: number): void {
  if (from < sequence.countedTo) acknowledge(sequence, { ...sequence, countedTo: from })
}

/**
 * A count stands in for a lost answer: the endpoint has the nonce. After a change of the bytes it does not
 * show which bytes are there.
 */
export function noteCounted(sequence: Sequence, segment: Segment): void {
  if (!segment.silent || segment.forced) return
  segment.silent = false
  sequence.counted.push({ nonce: segment.nonce, bytes: segment.bytes })
}

function retally(sequence: Sequence, segment: Segment, by: 1 | -1): void {
  tally(sequence, segment, by)
  segment.behindGap = undefined
}

/** All nonces below are acknowledged or taken: according to its answers, the endpoint lacks none of them. */
export function frontierOf(sequence: Sequence): number {
  const { segments, next } = sequence
  let nonce = Math.max(sequence.frontier, sequence.acknowledgedTo)
  while (nonce < next && segments.get(nonce)?.state === 'taken') nonce++
  sequence.frontier = nonce
  return nonce
}

/**
 * Visits the `lost` nonces in ascending order, as long as `use` returns true. Acknowledged nonces need no
 * second copy.
 */
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
