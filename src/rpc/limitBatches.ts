import { readBatchAnswer, readSingleAnswer } from './batchAnswer.js'
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
 * Where no call has an answer (HTTP 500, a closed socket), the first call is asked alone: its answer shows that the
 * batch is to blame, and a failure ends the batch after one request more. A rate limit and a timeout end it at once.
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
  // A batch of this size had no answer: its first call is asked alone.
  let suspect: number | undefined
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
    const left = part.length === 1 ? takeSingle(part, answers) : takeSeveral(part, answers, limitedBefore)
    if (left === undefined) return replies.map((reply) => reply ?? answers[0] ?? NO_ANSWER)
    open = [...left, ...open.slice(part.length)]
  }
  return replies as RpcReply[]

  /** The calls that are still open; undefined where nothing more is to be asked. */
  function takeSingle([index = 0]: readonly number[], [answer = NO_ANSWER]: readonly RpcReply[]) {
    replies[index] = answer
    const sense = readSingleAnswer(answer)
    if (sense === 'ends') return undefined
    if (sense === 'silent') {
      parts.doubted = suspect !== undefined || parts.doubted
      silent++
      return isAlone || silent === SILENT_MAX ? undefined : []
    }
    if (suspect !== undefined) halve('batchLost', suspect)
    else profile.observe({ kind: 'batchAnswered', size: 1 })
    isAlive = suspect === undefined
    isAlone = false
    parts.doubted = false
    suspect = undefined
    silent = 0
    return []
  }

  function takeSeveral(part: readonly number[], answers: readonly RpcReply[], limitedBefore: number) {
    const answer = readBatchAnswer(answers)
    const wasAlive = isAlive
    isAlive = false
    switch (answer.kind) {
      case 'answered':
        return takeAnswered(part, answers, answer.open)
      case 'refused':
        halve('batchRefused', part.length)
        return part
      case 'silent':
        if (wasAlive) halve('batchLost', part.length)
        else {
          suspect = part.length
          isAlone = true
        }
        return part
      case 'cut':
        // It says nothing of batches as such: the next one asks for something else.
        sizeMax = Math.floor(part.length / 2)
        return part
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
    return undefined
  }

  function takeAnswered(part: readonly number[], answers: readonly RpcReply[], left: readonly number[]) {
    const isOpen = new Set(left)
    for (const [at, index] of part.entries()) if (!isOpen.has(at)) replies[index] = answers[at]
    if (left.length === 0) profile.observe({ kind: 'batchAnswered', size: part.length })
    else {
      profile.observe({ kind: 'batchBroken', size: part.length })
      sizeMax = part.length - left.length
    }
    return left.map((at) => part[at] as number)
  }

  function halve(kind: 'batchRefused' | 'batchLost', size: number): void {
    profile.observe({ kind, size })
    sizeMax = Math.floor(size / 2)
  }
}

/** Calls in a row, each asked alone, without an answer: the others are not asked. */
const SILENT_MAX = 2
const NO_ANSWER: RpcReply = { ok: false, failure: { kind: 'malformed', message: 'no answer' } }

function sizeOf(profile: ProfileWatch): number {
  const { usable, sizeMax } = profile.current().batch
  return usable === false ? 1 : (sizeMax ?? Number.POSITIVE_INFINITY)
}
