import { decodeAnswers, errorObject } from '../envelope.js'
import type { RpcFailure, RpcReply } from '../port.js'
import { OversizedAnswer } from './boundedText.js'

/** The batches in the air on one socket, by the id of their first call. */
export type Frames = {
  /** Resolves when a frame answers the batch, or `fail` ends it. Never rejects. */
  expect(firstId: number, count: number): Promise<readonly RpcReply[]>
  /** A frame as it came. Frames that belong to others (subscriptions, viem's own requests) are passed over. */
  receive(data: unknown): void
  /** Ends all of them. */
  fail(failure: RpcFailure): void
  forget(firstId: number): void
}

type Open = {
  readonly count: number
  readonly replies: (RpcReply | undefined)[]
  readonly resolve: (replies: readonly RpcReply[]) => void
}

/**
 * Matches frames to batches. A batch may be answered by one array, by several, or by an object for each call. A frame
 * of more than `charsMax` is not read: nobody knows whose it was, so it ends all of them.
 */
export function createFrames(charsMax: number): Frames {
  const open = new Map<number, Open>()

  function fail(failure: RpcFailure): void {
    const reply: RpcReply = { ok: false, failure }
    for (const batch of open.values()) batch.resolve(batch.replies.map((own) => own ?? reply))
    open.clear()
  }

  function receive(data: unknown): void {
    if (typeof data === 'string' && data.length > charsMax) {
      const { message } = new OversizedAnswer(charsMax)
      return fail({ kind: 'malformed', message, cut: true })
    }
    const frame = typeof data === 'string' ? parse(data) : undefined
    // One frame may answer calls of several batches, though no server known does so.
    for (const [firstId, batch] of open) {
      if (!concerns(frame, firstId, batch.count, open.size)) continue
      const replies = decodeAnswers(frame, firstId, batch.count)
      const whole = Array.isArray(frame) || !hasOwnId(frame, firstId, batch.count)
      settle(firstId, batch, replies, whole)
    }
  }

  function settle(firstId: number, batch: Open, replies: readonly RpcReply[], whole: boolean): void {
    let missing = false
    for (let index = 0; index < batch.count; index++) {
      const reply = replies[index]
      // In an array that answers the batch, what has no part has none; beside single objects it may still come.
      if (batch.replies[index] === undefined && (whole || isOwn(reply))) batch.replies[index] = reply
      missing ||= batch.replies[index] === undefined
    }
    if (missing) return
    open.delete(firstId)
    batch.resolve(batch.replies as RpcReply[])
  }

  return {
    expect: (firstId, count) =>
      new Promise((resolve) => {
        open.set(firstId, { count, replies: new Array(count).fill(undefined), resolve })
      }),
    receive,
    fail,
    forget: (firstId) => void open.delete(firstId),
  }
}

function isOwn(reply: RpcReply | undefined): boolean {
  return reply !== undefined && (reply.ok || reply.failure.kind !== 'malformed')
}

/** Whether any part of the frame is for this batch. */
function concerns(frame: unknown, firstId: number, count: number, openBatches: number): boolean {
  if (Array.isArray(frame)) return frame.some((item) => hasOwnId(item, firstId, count))
  if (hasOwnId(frame, firstId, count)) return true
  // An error for the whole request has no id that says which one: with a single batch open it can only be that.
  return openBatches === 1 && errorObject(frame) !== undefined && idOf(frame) === null
}

function hasOwnId(item: unknown, firstId: number, count: number): boolean {
  const id = Number(idOf(item) ?? Number.NaN)
  return id >= firstId && id < firstId + count
}

function idOf(item: unknown): unknown {
  return typeof item === 'object' && item !== null ? ((item as { id?: unknown }).id ?? null) : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
