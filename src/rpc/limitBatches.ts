import { isSameFailure, readBatchAnswer, readSingleAnswer } from './batchAnswer.js'
import type { BatchOptions, Port, RpcCall, RpcReply } from './port.js'
import type { ProfileWatch } from './profile.js'
import { profileOf, setProfile } from './profileOf.js'

/** Calls in one batch of reads, whatever larger batches of transactions the endpoint takes: they take the node longer. */
export const READ_BATCH_MAX = 100

const limited = new WeakSet<Port>()

/**
 * A port that takes batches of any size. It asks in parts, one after another and in order, none larger than `batchMax`
 * and than what the endpoint is known to take. A batch that the endpoint refuses is asked again in halves, down to
 * single calls; a call without an answer in an answered batch is asked again. The profile remembers the sizes.
 *
 * Where no call has an answer (HTTP 500, a closed socket), or all have the same error, the first call is asked alone.
 * Another answer than that shows that the batch is to blame; a failure ends the batch after one request more. A rate limit
 * and a timeout end it at once.
 *
 * Each call may be posted several times, so that it is not for the bytes of transactions.
 */
export function limitBatches(port: Port, batchMax = Number.POSITIVE_INFINITY): Port {
  if (limited.has(port)) return port
  const profile = profileOf(port)
  const parts: Parts = { port, profile, batchMax, doubted: false, limited: 0 }
  const limitedPort = derivedPort(port, (calls, options) => postInParts(parts, calls, options))
  limited.add(limitedPort)
  return limitedPort
}

/** The same endpoint, with the same profile, asked in another way. */
export function derivedPort(port: Port, batch: Port['batch']): Port {
  const derived: Port = {
    get name() {
      return port.name
    },
    kind: port.kind,
    stats: port.stats,
    batch,
    close: () => port.close(),
  }
  setProfile(derived, profileOf(port))
  // A port over one that is limited is limited.
  if (limited.has(port)) limited.add(derived)
  return derived
}

type Parts = {
  readonly port: Port
  readonly profile: ProfileWatch
  readonly batchMax: number
  /** The last batch, and its first call alone, had no answer: the next batch begins with a call alone. */
  doubted: boolean
  /** Batches that were refused for the rate; those that were on their way together count once. */
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
  // For the rest of these calls: the user may have given another size for good.
  let sizeMax = parts.batchMax
  // The batch that had no answer of its own: its first call is asked alone.
  let suspect: Suspect | undefined
  let isAlone = parts.doubted && calls.length > 1
  // The last request was a call alone, and had an answer.
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

  /** False where nothing more is to be asked. */
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

  /** It is no word on the batch, but on each call that was answered so. */
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
        // It says nothing of batches as such: the next one asks for something else.
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

/** A batch without a result, and what came back. */
type Suspect = { readonly part: readonly number[]; readonly answers: readonly RpcReply[] }

/** Calls in a row, each asked alone, without an answer: the others are not asked. */
const SILENT_MAX = 2
const NO_ANSWER: RpcReply = { ok: false, failure: { kind: 'malformed', message: 'no answer' } }

function sizeOf(profile: ProfileWatch): number {
  const { usable, sizeMax } = profile.current().batch
  return usable === false ? 1 : (sizeMax ?? Number.POSITIVE_INFINITY)
}
