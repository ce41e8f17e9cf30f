import { isSameFailure, readBatchAnswer, readSingleAnswer } from './batchAnswer.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from './port.js'
import { type ProfileWatch, profileOf, setProfile } from './profile.js'

/**
 * Maximum number of calls in one batch of reads, even if the endpoint accepts larger batches of transactions:
 * reads cost the node more time.
 */
export const READ_BATCH_MAX = 100

const limited = new WeakSet<Port>()

/**
 * A port that accepts batches of any size. It splits them into parts, sent one after another and in order,
 * each at most `batchMax` and at most the size that the endpoint is known to accept. A refused batch is
 * repeated in halves, down to single calls. A call without an answer in an answered batch is repeated. The
 * profile remembers the sizes.
 *
 * If no call has an answer (HTTP 500, a closed socket), or all have the same error, the first call is
 * repeated alone. A different answer to it shows that the batch is to blame; a failure ends the batch after
 * one more request. A rate limit or a timeout ends it at once.
 *
 * A call may be posted several times, so this port is not for raw transactions.
 */
export function limitBatches(port: Port, batchMax = Number.POSITIVE_INFINITY): Port {
  if (limited.has(port)) return port
  const profile = profileOf(port)
  const parts: Parts = { port, profile, batchMax, doubted: false, limited: 0 }
  const limitedPort = derivedPort(port, (calls, options) => postInParts(parts, calls, options))
  limited.add(limitedPort)
  return limitedPort
}

/** The same endpoint with the same profile and another `batch` function. */
export function derivedPort(port: Port, batch: Port['batch']): Port {
  const derived: Port = {
    get name() {
      return port.name
    },
    kind: port.kind,
    stats: port.stats,
    notifications: port.notifications,
    batch,
    close: () => port.close(),
  }
  setProfile(derived, profileOf(port))
  // A port derived from a limited port is limited too.
  if (limited.has(port)) limited.add(derived)
  return derived
}

type Parts = {
  readonly port: Port
  readonly profile: ProfileWatch
  readonly batchMax: number
  /**
   * True if the last batch, and its first call alone, had no answer. The next batch then begins with a single
   * call.
   */
  doubted: boolean
  /** Number of batches refused with a rate limit. Batches that were in flight together count once. */
  limited: number
}

async function postInParts(
  parts: Parts,
  calls: readonly RpcCall[],
  options: BatchOptions = {},
): Promise<readonly RpcReply[]> {
  const { port, profile } = parts
  const replies = new Array<RpcReply | undefined>(calls.length).fill(undefined)
  let open: number[] = [...calls.keys()]
  // Applies to the rest of these calls only: the user may have set another size permanently.
  let sizeMax = parts.batchMax
  // A batch without an answer of its own. Its first call is repeated alone.
  let suspect: Suspect | undefined
  let isAlone = parts.doubted && calls.length > 1
  // True if the last request was a single call and had an answer.
  let isAlive = false
  let silent = 0

  while (open.length > 0) {
    const part = open.slice(0, isAlone ? 1 : Math.max(1, Math.min(sizeMax, sizeOf(profile))))
    const limitedBefore = parts.limited
    const answers = await port.batch(
      part.map((index) => calls[index] as RpcCall),
      options,
    )
    const goesOn = part.length === 1 ? takeSingle(part, answers) : takeSeveral(part, answers, limitedBefore)
    if (!goesOn) return replies.map((reply) => reply ?? answers[0] ?? NO_ANSWER)
    open = open.filter((index) => replies[index] === undefined)
  }
  return replies as RpcReply[]

  /** Returns false if no further request is to be made. */
  function takeSingle([index = 0]: readonly number[], [answer = NO_ANSWER]: readonly RpcReply[]): boolean {
    replies[index] = answer
    const sense = readSingleAnswer(answer)
    if (sense === 'ends') return false
    if (sense === 'silent') {
      parts.doubted = suspect !== undefined || parts.doubted
      silent++
      return !isAlone && silent < SILENT_MAX
    }
    if (suspect?.answers.some((one) => isSameFailure(one, answer))) takeAlike(suspect, answer)
    else if (suspect !== undefined) halve('batchLost', suspect.part.length)
    else profile.observe({ kind: 'batchAnswered', size: 1 })
    isAlive = suspect === undefined
    isAlone = false
    parts.doubted = false
    suspect = undefined
    silent = 0
    return true
  }

  /** The error does not concern the batch, but each call that got it. */
  function takeAlike({ part, answers }: Suspect, answer: RpcReply): void {
    for (const [at, index] of part.entries())
      if (isSameFailure(answers[at], answer)) replies[index] ??= answers[at]
  }

  function takeSeveral(
    part: readonly number[],
    answers: readonly RpcReply[],
    limitedBefore: number,
  ): boolean {
    const answer = readBatchAnswer(answers)
    const wasAlive = isAlive
    isAlive = false
    switch (answer.kind) {
      case 'answered':
        takeAnswered(part, answers, answer.open)
        return true
      case 'refused':
        halve('batchRefused', part.length)
        return true
      case 'alike':
      case 'silent':
        if (wasAlive && answer.kind === 'silent') halve('batchLost', part.length)
        else {
          suspect = { part, answers }
          isAlone = true
        }
        return true
      case 'cut':
        // The limit does not concern batches as such: the next batch has other calls.
        sizeMax = Math.floor(part.length / 2)
        return true
      case 'limited':
        if (parts.limited === limitedBefore) {
          parts.limited++
          profile.observe({ kind: 'batchLimited', size: part.length })
        }
        break
      case 'over':
        break
      default:
        return answer satisfies never
    }
    for (const [at, index] of part.entries()) replies[index] = answers[at]
    return false
  }

  function takeAnswered(
    part: readonly number[],
    answers: readonly RpcReply[],
    left: readonly number[],
  ): void {
    const isOpen = new Set(left)
    for (const [at, index] of part.entries()) if (!isOpen.has(at)) replies[index] = answers[at]
    if (left.length === 0) profile.observe({ kind: 'batchAnswered', size: part.length })
    else {
      profile.observe({ kind: 'batchBroken', size: part.length })
      sizeMax = part.length - left.length
    }
  }

  function halve(kind: 'batchRefused' | 'batchLost', size: number): void {
    profile.observe({ kind, size })
    sizeMax = Math.floor(size / 2)
  }
}

/** A batch without a result, and its replies. */
type Suspect = { readonly part: readonly number[]; readonly answers: readonly RpcReply[] }

/**
 * Maximum number of consecutive single calls without an answer. After that the remaining calls are not sent.
 */
const SILENT_MAX = 2
const NO_ANSWER: RpcReply = { ok: false, failure: { kind: 'malformed', message: 'no answer' } }

function sizeOf(profile: ProfileWatch): number {
  const { usable, sizeMax } = profile.current().batch
  return usable === false ? 1 : (sizeMax ?? Number.POSITIVE_INFINITY)
}
