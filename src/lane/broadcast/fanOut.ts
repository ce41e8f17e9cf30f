import type { Hash } from 'viem'
import type { PoolEndpoint } from '../../chain/endpoints/endpointPool.js'
import type { Attempt } from '../../ledger/slot.js'
import type { Clock } from '../../platform/clock.js'
import { isExplicitRefusal } from '../../rpc/explicitRefusal.js'
import type { EndpointSenderParts, Said } from './endpointSender.js'
import type { Recipients } from './recipients.js'

type FanOutParts = {
  readonly clock: Pick<Clock, 'now'>
  readonly recipients: Recipients
  /** No later block can make this refusal go away, although its reason is a temporary one. */
  readonly isBarred: (reply: Said) => boolean
  /** Receives each reply that counts. */
  readonly report: (reply: Said) => void
}

/** Combines the replies of several endpoints to the same bytes into one result. */
export type FanOut = Pick<EndpointSenderParts, 'posting' | 'said'>

/** Replies to bytes that are on their way to several endpoints at once. */
type Replies = { open: number; accepted: boolean; held: Map<PoolEndpoint, Said> }

export function createFanOut({ clock, recipients, isBarred, report }: FanOutParts): FanOut {
  const { several } = recipients
  const open = new Map<Hash, Replies>()

  /**
   * The first acceptance wins: other endpoints' answers about the same bytes are no reason to bump, to back
   * off or to give up. Until an endpoint accepts, and while one still may, no conclusion is drawn from a
   * refusal.
   */
  function combine(replies: Replies, reply: Said): void {
    if (replies.accepted) return
    if (reply.outcome.outcome === 'accepted') {
      replies.accepted = true
      return report(reply)
    }
    replies.held.set(reply.endpoint, reply)
    if (replies.open > 0) return
    const all = [...replies.held.values()]
    const fromAll = isFromAll(reply.attempt, all)
    // The same refusal counts once, however many nodes repeat it.
    const kinds = new Map<string, Said>()
    for (const each of all) {
      const { outcome, ...rest } = weighed(each, fromAll)
      kinds.set(`${outcome.outcome} ${outcome.reason} ${outcome.counted}`, { ...rest, outcome })
    }
    for (const each of kinds.values()) report(each)
  }

  /** Every endpoint that is available for these bytes now, and that answers, refused them permanently. */
  function isFromAll(attempt: Attempt, replies: readonly Said[]): boolean {
    const refusing = new Set(replies.filter(isForGood).map(({ endpoint }) => endpoint))
    const now = clock.now()
    const asked = recipients.of(attempt, true).filter(({ silentUntilMs }) => silentUntilMs <= now)
    return replies.every(isForGood) && asked.every((endpoint) => refusing.has(endpoint))
  }

  return {
    posting(batch, awaited) {
      if (!several || !awaited) return
      for (const { attempt } of batch) {
        const { hash } = attempt
        const replies = open.get(hash)
        if (replies) replies.open++
        else open.set(hash, { open: 1, accepted: false, held: new Map() })
      }
    },
    said(received) {
      const reply = isBarred(received) ? forGood(received) : received
      const { attempt } = reply
      const replies = open.get(attempt.hash)
      if (replies === undefined) return report(weighed(reply, !several || isFromAll(attempt, [reply])))
      if (reply.awaited && --replies.open === 0) open.delete(attempt.hash)
      combine(replies, reply)
    },
  }
}

/**
 * A refusal that no retry at this node resolves: the table of messages lists it, or the message is unknown.
 */
function isForGood({ outcome, reply, ofBatch }: Said): boolean {
  return !ofBatch && (outcome.counted || isExplicitRefusal(reply, outcome))
}

/**
 * A permanent refusal counts only if every endpoint refuses the bytes permanently: another endpoint may
 * accept bytes that one endpoint does not (row 18), and an unknown message alone proves nothing (row 13).
 */
function weighed(said: Said, fromAll: boolean): Said {
  if (!isForGood(said)) return said
  const { outcome } = said
  if (fromAll) return forGood(said)
  return outcome.counted ? { ...said, outcome: { ...outcome, counted: false } } : said
}

function forGood(said: Said): Said {
  return { ...said, outcome: { ...said.outcome, outcome: 'refused', counted: true } }
}
