import type { Clock } from '../../platform/clock.js'
import { decodeHeader, headerCall } from '../../rpc/codec.js'
import type { RpcFailure, RpcReply } from '../../rpc/port.js'
import type { Advance, Walk } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { decoded, type Part, sealedOf } from './tickParts.js'

type Tag = 'safe' | 'finalized'
/** Somebody waits for it; or what is kept goes by it, and that may be later. */
export type TagWanted = 'now' | 'sometime' | 'never'
const TAGS = ['safe', 'finalized'] as const
/** On a chain of five blocks a second they would be as many calls as the heads. */
const REST_MS = 1_000
/** A tag that nobody is told of is asked for once in so many heads: it moves by epochs, of 32 slots on Ethereum. */
const SELDOM_HEADS = 16

/**
 * The tags that somebody waits for, asked for once a sealed block, for they move no faster, and at most once a second.
 * A tag is taken back where its block leaves the chain, and nowhere else, and an endpoint may have been on another chain
 * for the one call: a tag is believed where its block is one that was walked; one below the walk, and that there is no
 * such tag, of an endpoint that shows that it is on our chain.
 */
export function createTags(
  wanted: (tag: Tag) => TagWanted,
  walk: Pick<Walk, 'tip' | 'hashAt'>,
  clock: Pick<Clock, 'now'>,
) {
  const seen: { safe?: number | 'absent'; finalized?: number | 'absent' } = {}
  const answers = new Map<Tag, RpcReply>()
  // At which head each was asked for last.
  const heads = new Map<Tag, number>()
  let askedAt = -1
  let notBeforeMs = 0

  /** False where it is to be asked again of an endpoint that shows where it is. */
  function take(tag: Tag, reply: RpcReply, shown: boolean): boolean {
    if (!reply.ok) {
      // Only the node's own word says that it lacks the tag; a lost request says nothing.
      if (reply.failure.kind !== 'rpc' || !isMissing(reply.failure)) return true
      if (shown) seen[tag] = 'absent'
      return shown
    }
    const block = sealedOf(decoded(reply, decodeHeader))
    const known = seen[tag]
    if (block === undefined || (typeof known === 'number' && block.number <= known)) return true
    if (!isOurs(block, shown)) return false
    seen[tag] = block.number
    return true
  }

  /** From the lowest of these blocks on the chain is another one: a tag's block that was there has left. */
  function forget({ left, came }: Advance): void {
    const from = Math.min(
      left.at(-1)?.number ?? Number.POSITIVE_INFINITY,
      came[0]?.number ?? Number.POSITIVE_INFINITY,
    )
    for (const tag of TAGS) {
      const number = seen[tag]
      if (typeof number === 'number' && number >= from) delete seen[tag]
    }
  }

  function isDue(tag: Tag, head: number): boolean {
    const want = wanted(tag)
    const before = heads.get(tag)
    return want === 'now' || (want === 'sometime' && (before === undefined || head - before >= SELDOM_HEADS))
  }

  function askAgain(): void {
    heads.clear()
    askedAt = -1
    notBeforeMs = 0
  }

  function isOurs({ number, hash }: SealedBlock, shown: boolean): boolean {
    const walked = walk.hashAt(number)
    return walked === undefined ? shown && number < (walk.tip?.number ?? 0) : walked === hash
  }

  return {
    get: (tag: Tag) => seen[tag],
    parts(head: number): Part[] {
      answers.clear()
      if (head === askedAt || clock.now() < notBeforeMs) return []
      const names = TAGS.filter((tag) => seen[tag] !== 'absent' && isDue(tag, head))
      for (const tag of names) heads.set(tag, head)
      if (names.length > 0) {
        askedAt = head
        notBeforeMs = clock.now() + REST_MS
      }
      return names.map((tag) => ({
        call: headerCall(tag),
        take: (reply) => void answers.set(tag, reply),
      }))
    },
    /**
     * What was answered beside a head. Where that did not join our chain, the tags may be another one's. `shown`: the
     * endpoint showed that it is on our chain. False where it has to.
     */
    answered(moved: Advance | undefined, shown: boolean): boolean {
      if (moved) forget(moved)
      const taken = moved ? [...answers].map(([tag, reply]) => take(tag, reply, shown)) : []
      const believed = !taken.includes(false)
      if (!moved || !believed) askAgain()
      return believed
    },
    /** Another endpoint is asked: that the former one lacked a tag says nothing of it. */
    elsewhere(): void {
      askAgain()
      for (const tag of TAGS) if (seen[tag] === 'absent') delete seen[tag]
    },
  }
}

// geth answers "safe block not found" and "finalized block not found" (eth/api_backend.go) until it has one, which
// on a chain without a consensus client is for ever; others reject the word as a parameter.
function isMissing(failure: Extract<RpcFailure, { kind: 'rpc' }>): boolean {
  return /not found|unknown block|invalid|unsupported|not supported|cannot unmarshal/i.test(failure.message)
}
