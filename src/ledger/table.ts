import type { SlotEvent } from './event.js'
import type { SlotState } from './slot.js'

/** A slot's state, or `new` for a nonce without a slot. */
export type RowState = SlotState | 'new'

export type Row = {
  /** The row's number in the design: tests, comments and coverage counts cite it. */
  readonly row: number
  readonly from: readonly RowState[]
  readonly on: readonly SlotEvent['type'][]
  /** The states that this row may lead to. */
  readonly to: readonly SlotState[]
  readonly says: string
}

/**
 * The whole state machine, as data. `transition` executes it and returns the row that it took. A test
 * compares the two.
 */
export const TABLE: readonly Row[] = [
  {
    row: 1,
    from: ['new', 'hole'],
    on: ['reserve'],
    to: ['reserved'],
    says: 'the lowest hole is reserved: sign',
  },
  {
    row: 2,
    from: ['new', 'hole'],
    on: ['gapTimer'],
    to: ['live'],
    says: 'a gap that no queued transaction can take is voided by a no-op',
  },
  {
    row: 3,
    from: ['new', 'hole'],
    on: ['gapTimer'],
    to: ['hole'],
    says: 'no nonce above is bound: the cursor comes down',
  },
  {
    row: 4,
    from: ['reserved', 'live'],
    on: ['committing', 'journaled'],
    to: ['reserved', 'live'],
    says: 'the token is current: commit the attempt; committed: broadcast',
  },
  {
    row: 5,
    from: ['reserved', 'live'],
    on: ['commitUnknown'],
    to: ['reserved', 'live'],
    says: 'the result of the commit is unknown: hold the lane, read the store again',
  },
  {
    row: 6,
    from: ['reserved', 'live'],
    on: ['withdraw'],
    to: ['hole', 'live'],
    says: 'nothing was journaled for the claim: it is queued again or ends',
  },
  {
    row: 7,
    from: ['reserved'],
    on: ['evidence', 'sealed'],
    to: ['used'],
    says: 'the nonce is used before anything was journaled: the token is stale, the claim is queued again',
  },
  {
    row: 8,
    from: ['new', 'hole'],
    on: ['seeded', 'handOut'],
    to: ['outside'],
    says: 'another sender may have used it, or used it in a block that left the chain',
  },
  {
    row: 9,
    from: ['outside', 'live', 'used'],
    on: ['outsideCommitted'],
    to: ['live'],
    says: 'its bytes are known, at any time: watch them; if the use is unread and not settled: look again',
  },
  {
    row: 10,
    from: ['outside'],
    on: ['released'],
    to: ['hole'],
    says: 'the caller asserts that nothing was sent',
  },
  {
    row: 11,
    from: ['outside'],
    on: ['ttl'],
    to: ['live', 'outside'],
    says: 'handed out and no bytes reported: void it, or report a gap',
  },
  {
    row: 12,
    from: ['outside'],
    on: ['stuck'],
    to: ['live', 'outside'],
    says: 'seeded, at the head, not covered, stuck: void it',
  },
  {
    row: 13,
    from: ['live'],
    on: ['outcome'],
    to: ['live'],
    says: 'accepted or unknown: resend the newest attempt later',
  },
  {
    row: 14,
    from: ['live'],
    on: ['outcome'],
    to: ['hole'],
    says: 'intrinsic, the only attempt, sent once, own epoch: fail the transaction',
  },
  {
    row: 15,
    from: ['live'],
    on: ['outcome'],
    to: ['live'],
    says: 'intrinsic otherwise, or counted: refusals + 1',
  },
  {
    row: 16,
    from: ['live'],
    on: ['outcome'],
    to: ['live'],
    says: 'the fee is too low: bump; the node requires more than the ceiling: send once more, then wait',
  },
  {
    row: 17,
    from: ['live'],
    on: ['outcome', 'stuck', 'speedUp'],
    to: ['live'],
    says: 'underpriced: another transaction holds the nonce in the pool; wait, or outbid it on request',
  },
  {
    row: 18,
    from: ['live'],
    on: ['outcome'],
    to: ['live'],
    says: 'any other refusal: back off, then send the same bytes',
  },
  {
    row: 19,
    from: ['live'],
    on: ['stuck', 'speedUp'],
    to: ['live'],
    says: 'stuck: resend the newest attempt, bump it the next time; sped up with fees: wanted again, though voided',
  },
  {
    row: 20,
    from: ['live'],
    on: ['stuck', 'outcome'],
    to: ['live'],
    says: 'the head is at its ceiling, or refused three times, or the node requires more than its ceiling: void it',
  },
  {
    row: 21,
    from: ['reserved', 'live', 'used'],
    on: ['cancel'],
    to: ['live', 'used'],
    says: 'no-op; the claim is never bumped again. Used and not settled: it is not queued again',
  },
  {
    row: 22,
    from: ['live'],
    on: ['replace'],
    to: ['live'],
    says: "the newest claim is T': commit its attempt",
  },
  {
    row: 23,
    from: ['live'],
    on: ['preconfirmed', 'notPreconfirmed'],
    to: ['live'],
    says: 'one of our attempts is in the pending block; or the sealed block of that number does not contain it',
  },
  {
    row: 24,
    from: ['new', 'hole', 'outside', 'live', 'used'],
    on: ['sealed'],
    to: ['used'],
    says: 'one of our attempts is in a sealed block: it used the nonce, whatever was believed or settled before',
  },
  {
    row: 25,
    from: ['new', 'hole', 'outside', 'live'],
    on: ['evidence'],
    to: ['used'],
    says: 'used by another transaction: a body contains a witness for the nonce',
  },
  {
    row: 26,
    from: ['outside', 'live'],
    on: ['passed'],
    to: ['used'],
    says: 'the count has passed a nonce below the cursor and no body with the witness is available: unproven',
  },
  {
    row: 27,
    from: ['used'],
    on: ['evidence', 'sealed', 'resolve', 'refuted'],
    to: ['used', 'live', 'hole'],
    says: 'evidence after all, or the operator names the fate; or the count is refuted: live again',
  },
  {
    row: 28,
    from: ['used'],
    on: ['left'],
    to: ['live', 'outside'],
    says: 'its block left the chain before the verdict: live again, resend the newest',
  },
  { row: 29, from: ['used'], on: ['lossDepth'], to: ['used'], says: 'a claim landed; the others did not' },
  {
    row: 30,
    from: ['used'],
    on: ['lossDepth'],
    to: ['used'],
    says: 'the no-op landed: the last claim ends as asked',
  },
  {
    row: 31,
    from: ['used'],
    on: ['lossDepth'],
    to: ['used'],
    says: 'another transaction landed: the last claim ends as asked, or is queued again',
  },
  {
    row: 32,
    from: ['used'],
    on: ['left'],
    to: ['live'],
    says: 'a settled block left the chain, which exceeds the promised depth: the lane is held',
  },
  { row: 33, from: ['used'], on: ['horizon'], to: ['final'], says: 'beyond the horizon: prune' },
  {
    row: 34,
    from: ['used'],
    on: ['unwitnessed'],
    to: ['live', 'hole'],
    says: 'used by another transaction, and its body read again has no witness: live again',
  },
  {
    row: 35,
    from: ['reserved', 'live', 'used'],
    on: ['executedElsewhere'],
    to: ['hole', 'live', 'used'],
    says: 'the claim has executed at a nonce that it was bound to before: void it here, or do not queue it again',
  },
]
