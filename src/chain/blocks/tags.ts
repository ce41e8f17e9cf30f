import type { Clock } from '../../platform/clock.js'
import { decodeHeader, headerCall } from '../../rpc/codec.js'
import type { RpcFailure, RpcReply } from '../../rpc/port.js'
import type { Advance, Walk } from './chainWalk.js'
import type { SealedBlock } from './follower.js'
import { decoded, type Part, sealedOf } from './tickParts.js'

type Tag = 'safe' | 'finalized'
/**
 * `now`: a caller waits for the tag. `sometime`: only the retention of records depends on it, which may wait.
 */
export type TagWanted = 'now' | 'sometime' | 'never'
const TAGS = ['safe', 'finalized'] as const
/** On a chain with five blocks per second, the tags would otherwise cost as many calls as the heads. */
const REST_MS = 1_000
/**
 * A tag that no caller waits for is requested once in this many heads: it moves by epochs, of 32 slots on
 * Ethereum.
 */
const SELDOM_HEADS = 16

/**
 * The tags that callers wait for. They are requested once per sealed block, because they move no faster, and
 * at most once a second. A tag is taken back only if its block leaves the chain. An endpoint may have been on
 * another chain for the one call, so a tag is believed only under conditions. A tag within the walk must name
 * a walked block. A tag below the walk, and the absence of a tag, are believed only from an endpoint that
 * proves that it is on our chain.
 */
export function createTags(
  wanted: (tag: Tag) => TagWanted,
  walk: Pick<Walk, 'tip' | 'hashAt'>,
  clock: Pick<Clock, 'now'>,
) {
  const seen: { safe?: number | 'absent'; finalized?: number | 'absent' } = {}
  const answers = new Map<Tag, RpcReply>()
  // The head at which each tag was last requested.
  const heads = new Map<Tag, number>()
  let askedAt = -1
  let notBeforeMs = 0

  /** Returns false if the tag has to be requested again, from an endpoint that proves its chain. */
  function take(tag: Tag, reply: RpcReply, shown: boolean): boolean {
    if (!reply.ok) {
      // Only the node's own error message shows that it lacks the tag; a lost request proves nothing.
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

  /** From the lowest of these blocks on, the chain has changed: a tag's block in that range has left. */
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
     * Handles the answers that came with a head. If the head did not join our chain, the tags may belong to
     * another chain. `shown`: the endpoint proved that it is on our chain. Returns false if it has to prove
     * that.
     */
    answered(moved: Advance | undefined, shown: boolean): boolean {
      if (moved) forget(moved)
      const taken = moved ? [...answers].map(([tag, reply]) => take(tag, reply, shown)) : []
      const believed = !taken.includes(false)
      if (!moved || !believed) askAgain()
      return believed
    },
    /** Another endpoint is read: the absence of a tag at the former endpoint does not apply to it. */
    elsewhere(): void {
      askAgain()
      for (const tag of TAGS) if (seen[tag] === 'absent') delete seen[tag]
    },
  }
}

// geth answers "safe block not found" and "finalized block not found" (eth/api_backend.go) until it has one.
// On a chain without a consensus client that is for ever. Other nodes reject the word as a parameter.
function isMissing(failure: Extract<RpcFailure, { kind: 'rpc' }>): boolean {
  return /not found|unknown block|invalid|unsupported|not supported|cannot unmarshal/i.test(failure.message)
}
