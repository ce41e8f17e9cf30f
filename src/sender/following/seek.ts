import type { Hash } from 'viem'
import type { BlockRef } from '../../ledger/slot.js'
import { countCall, decodeNumber, headerCall } from '../../rpc/codec.js'
import { readEvidence } from '../../tracker/evidence.js'
import { readBlock } from '../../tracker/evidenceReplies.js'
import { type LaneContext, reportError } from '../context.js'
import { untilStopped } from '../unlessStopped.js'
import { verdictLimit } from './depth.js'

/**
 * Finds out who used a nonce that the counts say is gone and none of the walked blocks explains. A count is only
 * the trigger; what moves a slot is the pair of blocks (P4).
 */
export type EvidenceSeeker = {
  /** The `latest` count as a tick read it. */
  count(latest: number, head: number): void
  /** A block left the chain: what was read at it, and above it, is not known any more. */
  left(block: BlockRef): void
  /** A node said "nonce too low". */
  look(): void
  /** An operator lifts a jump: what is below the count is taken as used. */
  acceptJump(): void
  /** A count is above the floor and not explained yet. */
  readonly wanted: boolean
  /** Resolves when nothing is being looked for. */
  idle(): Promise<void>
  /** The newest `latest` count: nonces below it wait for evidence, not for inclusion. */
  readonly latest: number
}

/** More nonces than this gone without us at once: not one more wallet with the key, but something to look at. */
const JUMP_MAX = 64

/**
 * @param unwalked takes the nonces whose blocks the walk is still to reach
 * @param carriedIn the block of the transaction of ours that has a tuple for this nonce (EIP-7702), where there is one
 */
export function createSeeker(
  context: LaneContext,
  unwalked: Set<number>,
  carriedIn: (nonce: number) => BlockRef | undefined,
): EvidenceSeeker {
  const { lane, hub, limits } = context
  const { book } = lane
  const tracker = hub.tracker
  let seeking = false
  let asked = false
  // The newest head at which the count was not above the floor: evidence is looked for from there.
  let quietAt: number | undefined
  // Beyond our own attempts one reading may be poisoned: two at different blocks have to agree.
  let first: { count: number; head: number } | undefined
  let jumpTo: number | undefined
  let newest = 0
  let idlers: (() => void)[] = []

  function count(latest: number, head: number): void {
    newest = latest
    if (latest <= book.floor) {
      quietAt = Math.max(quietAt ?? 0, head)
      first = undefined
      if (!asked) return
    }
    asked = false
    if (latest <= book.floor) return
    const bound = book.get(book.floor)
    // An idle lane has been asleep: the evidence itself is the second reading.
    const asleep = book.unfinished === 0 && first === undefined
    if (!asleep && (bound === undefined || bound.state === 'hole')) {
      if (first === undefined || first.head === head || latest < first.count) {
        if (first === undefined || latest < first.count) first = { count: latest, head }
        return
      }
    }
    if (!seeking) void seek(head)
  }

  async function seek(head: number): Promise<void> {
    seeking = true
    try {
      // A search asks several times, and the endpoint may be shared: it ends with the lane.
      await untilStopped(context.closing, async (signal) => {
        while (!context.closed && (await step(head, signal))) {}
      })
    } catch (error) {
      reportError(context, error)
    } finally {
      seeking = false
      const all = idlers
      idlers = []
      for (const done of all) done()
    }
  }

  /** One nonce, or as many as one pair of blocks explains. True while there is more to explain. */
  async function step(head: number, signal: AbortSignal): Promise<boolean> {
    const nonce = book.floor
    const verdict = await readEvidence(hub.reader.port, {
      address: lane.key.address,
      nonce,
      own: ownAt,
      from: quietAt ?? head - 1,
      to: head,
      hashAt: tracker.hashAt,
      chainId: hub.chainId,
      signal,
    })
    // The chain may have been walked on meanwhile: what is known by now needs no explanation.
    if (nonce !== book.floor) return book.floor < book.cursor
    if ('block' in verdict && hasLeft(verdict.block)) return false
    switch (verdict.kind) {
      case 'own':
        lane.apply(nonce, { type: 'sealed', hash: verdict.hash, block: verdict.block })
        reach(nonce, verdict.block.number)
        quietAt = Math.max(quietAt ?? 0, verdict.block.number - 1)
        await beside(verdict.block, signal)
        return true
      case 'other':
        return others(nonce, verdict.upTo, verdict.block, verdict.hash)
      case 'pruned':
        return passed(nonce)
      case 'notUsed':
        quietAt = Math.max(quietAt ?? 0, head)
        return false
      case 'unsure':
        return false
      default:
        return verdict satisfies never
    }
  }

  /**
   * What else of ours is in a block that used one nonce. A lane that is taken over may have a whole window of attempts
   * in a few blocks, and a search for each of them takes several requests, one after the other.
   */
  async function beside(block: BlockRef, signal: AbortSignal): Promise<void> {
    if (book.floor >= book.cursor) return
    const [reply] = await hub.reader.port.batch([headerCall(block.number)], {
      timeoutMs: limits.readTimeoutMs,
      signal,
    })
    const read = readBlock(reply)
    if (read?.hash !== block.hash || hasLeft(block)) return
    for (const hash of read.hashes) {
      const nonce = book.nonceOf(hash)
      if (nonce === undefined || book.get(nonce)?.state !== 'live') continue
      lane.apply(nonce, { type: 'sealed', hash, block })
      reach(nonce, block.number)
    }
  }

  /**
   * Row 26, once the count has passed the nonce in a block deep enough to prove an end. Below the head of now: a search
   * takes its time, and who has pruned old states soon has none of what was deep enough when it began.
   */
  async function passed(nonce: number): Promise<boolean> {
    const deep = verdictLimit(context, tracker.head?.number ?? -1)
    if (deep < 0) return false
    const call = countCall(lane.key.address, deep)
    const [reply] = await hub.reader.port.batch([call], { timeoutMs: limits.readTimeoutMs })
    if (!reply?.ok || decodeNumber(reply.result, call.method) <= nonce) return false
    // The chain has executed the transaction: by its rules that used up the nonces of the tuples, and the count agrees.
    const block = carriedIn(nonce)
    if (block) lane.apply(nonce, { type: 'evidence', block, hash: undefined, authorized: true })
    else lane.apply(nonce, { type: 'passed' })
    return book.floor !== nonce
  }

  function others(
    nonce: number,
    upTo: number,
    block: { number: number; hash: Hash },
    hash: Hash | undefined,
  ): boolean {
    if (upTo - Math.max(nonce, book.cursor) > JUMP_MAX) {
      jumpTo = upTo
      lane.holds.add('jump')
      return false
    }
    for (let other = nonce; other < upTo; other++) {
      const authorized = carriedIn(other)?.hash === block.hash
      lane.apply(other, { type: 'evidence', block, hash: other === nonce ? hash : undefined, authorized })
      reach(other, block.number)
    }
    return book.floor >= upTo
  }

  /** It was left while it was asked about: nobody would tell so once more. */
  function hasLeft({ number, hash }: BlockRef): boolean {
    const walked = tracker.hashAt(number)
    return walked !== undefined && walked !== hash
  }

  /** A block that the walk does not know could leave without a word. */
  function reach(nonce: number, number: number): void {
    if (tracker.hashAt(number) !== undefined) return
    unwalked.add(nonce)
    tracker.reach(number)
  }

  function ownAt(nonce: number): ReadonlySet<Hash> {
    return new Set(book.get(nonce)?.attempts.map((attempt) => attempt.hash) ?? [])
  }

  return {
    count,
    left({ number }) {
      if (quietAt !== undefined && quietAt >= number) quietAt = Math.max(0, number - 1)
    },
    look() {
      asked = true
      tracker.wake()
    },
    acceptJump() {
      if (jumpTo !== undefined) book.raise(jumpTo)
      jumpTo = undefined
    },
    idle() {
      if (!seeking) return Promise.resolve()
      return new Promise((resolve) => idlers.push(resolve))
    },
    get latest() {
      return newest
    },
    get wanted() {
      return seeking || first !== undefined || asked
    },
  }
}
