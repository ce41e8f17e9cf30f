import type { Hash } from 'viem'
import type { Clock } from '../../platform/clock.js'
import { decodeHeader, headerCall } from '../../rpc/codec.js'
import type { RpcReply } from '../../rpc/port.js'
import type { Advance, Walk } from './chainWalk.js'
import { decoded, type Part, sealedOf } from './tickParts.js'

type Tag = 'safe' | 'finalized'
/**
 * `now`: a caller or a verdict waits for a tag. `sometime`: a slot waits to be pruned. `seldom`: neither.
 * `never`: nothing is followed.
 */
export type TagsWanted = 'now' | 'sometime' | 'seldom' | 'never'
const TAGS = ['safe', 'finalized'] as const

const SOMETIME_MS = 30_000
const SELDOM_MS = 60_000
/** The longest pause between two requests for a tag that does not move: on Ethereum a tag moves once in 6.4 minutes. */
const STILL_MS_MAX = 240_000
/** The shortest pause, for a chain whose tags lag by no more than a few seconds. */
const LEAST_MS = 1_000

/**
 * The tags `safe` and `finalized`, both in one request, no more often than they move. While a caller waits, a tag
 * that lags by minutes is requested once in 30 s, and a tag that lags by seconds once in half that lag. Otherwise
 * the pause doubles, up to four minutes, with each answer in which no tag has moved.
 *
 * A single answer may come from another chain, or from another node behind the same URL. A tag within the walk must
 * name a walked block. A tag below the walk, and the absence of a tag, need two consecutive answers, of which the
 * lower block counts. A tag is taken back only if its block leaves the chain.
 */
export function createTags(
  wanted: () => TagsWanted,
  walk: Pick<Walk, 'tip' | 'hashAt'>,
  clock: Pick<Clock, 'now'>,
) {
  const seen: { safe?: number | 'absent'; finalized?: number | 'absent' } = {}
  /** The last answers that one more answer has to confirm. */
  const claimed: { safe?: number | 'absent'; finalized?: number | 'absent' } = {}
  const answers = new Map<Tag, RpcReply>()
  /** When the last answers came, and at which head. */
  let answeredAt: { readonly ms: number; readonly head: Hash | undefined } | undefined
  let pauseMs = LEAST_MS
  // Consecutive answers in which no tag has moved.
  let still = 0

  /** The milliseconds by which the tag lags; undefined if the answer showed no tag on our chain. */
  function take(tag: Tag, reply: RpcReply): number | undefined {
    const before = claimed[tag]
    delete claimed[tag]
    if (isMissing(reply)) {
      if (before === 'absent') seen[tag] = 'absent'
      claimed[tag] = 'absent'
      return undefined
    }
    const block = sealedOf(decoded(reply, decodeHeader))
    const { tip } = walk
    if (block === undefined || tip === undefined) return undefined
    const walked = walk.hashAt(block.number)
    if (walked === undefined && block.number < tip.number) {
      claimed[tag] = block.number
      if (typeof before !== 'number') return undefined
      raise(tag, Math.min(before, block.number))
    } else if (walked === block.hash) raise(tag, block.number)
    else return undefined
    return 1_000 * (tip.timestamp - block.timestamp)
  }

  function raise(tag: Tag, number: number): void {
    const known = seen[tag]
    if (typeof known !== 'number' || number > known) seen[tag] = number
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

  const slowed = (ms: number) => Math.min(STILL_MS_MAX, ms * 2 ** still)

  function isDue(): boolean {
    const want = wanted()
    if (want === 'never') return false
    if (answeredAt === undefined) return true
    const isUnconfirmed = TAGS.some((tag) => claimed[tag] !== undefined && seen[tag] === undefined)
    const least = { now: pauseMs, sometime: slowed(SOMETIME_MS), seldom: slowed(SELDOM_MS) }[want]
    const atSameHead = answeredAt.head === walk.tip?.hash ? SOMETIME_MS : 0
    const restMs = isUnconfirmed ? LEAST_MS : Math.max(least, atSameHead)
    return clock.now() - answeredAt.ms >= restMs
  }

  return {
    get: (tag: Tag) => seen[tag],
    parts(): Part[] {
      answers.clear()
      if (!isDue()) return []
      return TAGS.map((tag) => ({
        call: headerCall(tag),
        take: (reply) => void answers.set(tag, reply),
      }))
    },
    /** Handles the answers that came with a head. If the head did not join our chain, they prove nothing. */
    answered(moved: Advance | undefined): void {
      if (moved) forget(moved)
      if (answers.size === 0 || !moved) return
      answeredAt = { ms: clock.now(), head: walk.tip?.hash }
      const { safe, finalized } = seen
      const lagsMs = [...answers].flatMap(([tag, reply]) => take(tag, reply) ?? [])
      const nextMs = lagsMs.length > 0 ? Math.min(...lagsMs) / 2 : 2 * pauseMs
      pauseMs = Math.min(SOMETIME_MS, Math.max(LEAST_MS, nextMs))
      still = seen.safe === safe && seen.finalized === finalized ? still + 1 : 0
    },
    /** Another endpoint is read: the absence of a tag at the former endpoint does not apply to it. */
    elsewhere(): void {
      answeredAt = undefined
      pauseMs = LEAST_MS
      still = 0
      for (const tag of TAGS) {
        delete claimed[tag]
        if (seen[tag] === 'absent') delete seen[tag]
      }
    },
  }
}

/**
 * The node itself reports that it has no such block; a lost request shows nothing. geth answers "safe block
 * not found" and "finalized block not found" (eth/api_backend.go) until it has one, which on a chain without a
 * consensus client is for ever. Other nodes answer `null`, or reject the word as a parameter.
 */
function isMissing(reply: RpcReply): boolean {
  if (reply.ok) return reply.result === null
  const { failure } = reply
  return (
    failure.kind === 'rpc' &&
    /not found|unknown block|invalid|unsupported|not supported|cannot unmarshal/i.test(failure.message)
  )
}
