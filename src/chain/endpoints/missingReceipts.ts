import type { Hash } from 'viem'
import type { CancelTimer, Clock } from '../../platform/clock.js'
import type { Tracker } from '../blocks/blockPoller.js'

/** The state of a receipt that no endpoint has shown. */
export type MissingReceipt = {
  /** When it was first asked for, in clock milliseconds. */
  readonly sinceMs: number
  /** How often an endpoint showed a receipt that contradicts the block: of another block or transaction. */
  readonly misfits: number
  /** The last answer of each endpoint, by the name of the endpoint. */
  readonly said: ReadonlyMap<string, string>
}

type Missing = {
  sinceMs: number
  misfits: number
  said: Map<string, string>
  asks: number
  askedAtMs: number
  /** The newest known block when it was asked for. */
  askedAt: Hash | undefined
  pauseMs: number
  /** An endpoint asked for a pause until this time. */
  restUntilMs: number
  waiting: Set<() => void>
}

/** An answer without a receipt that fits. */
export type NoReceipt = {
  readonly said: string
  readonly misfit?: true
  readonly retryAfterMs?: number | undefined
}

/** The time of a question, and the newest block then. */
export type AskedAt = { readonly askedAtMs: number; readonly askedAt: Hash | undefined }

/** The first repetition comes with the next block; the pauses of the later ones double from here. */
const PAUSE_MS = 500
const PAUSE_MS_MAX = 16_000
/** Without a new block for so long, or for two block periods if that is longer, time alone makes a receipt due. */
const SILENT_MS = 5_000
/** A receipt that no caller has asked for during this time is forgotten. */
const FORGET_MS = 60_000
const WORDS_CHARS_MAX = 300

/** Receipts that were asked for in vain, by key, and when they are asked for again. */
export type MissingReceipts = {
  get(key: string): MissingReceipt | undefined
  /** How often it was asked for in vain. */
  asksOf(key: string | undefined): number
  note(key: string, endpoint: string, answer: NoReceipt, at: AskedAt): void
  /** An endpoint has shown the receipt: every caller that waits for it may ask. */
  shown(key: string): void
  /** Resolves when the receipt may be asked for again. `drop` ends the wait. */
  due(key: string): { readonly promise: Promise<void>; readonly drop: () => void }
}

export function createMissingReceipts(parts: {
  readonly tracker: () => Pick<Tracker, 'head' | 'blockMs' | 'onHead'>
  readonly clock: Clock
  readonly restMsMax: number
}): MissingReceipts {
  const { tracker, clock } = parts
  const missing = new Map<string, Missing>()
  let disarm: (() => void) | undefined
  let waiters = 0

  function note(
    key: string,
    name: string,
    answer: NoReceipt,
    { askedAtMs, askedAt }: AskedAt,
  ): void {
    let entry = missing.get(key)
    if (entry === undefined) {
      forgetOld(askedAtMs)
      entry = {
        sinceMs: askedAtMs,
        misfits: 0,
        said: new Map(),
        asks: 0,
        askedAtMs: 0,
        askedAt: undefined,
        pauseMs: 0,
        restUntilMs: 0,
        waiting: new Set(),
      }
      missing.set(key, entry)
    }
    if (entry.askedAtMs !== askedAtMs || entry.asks === 0) {
      entry.asks++
      entry.pauseMs = entry.asks === 1 ? 0 : Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (entry.asks - 2))
    }
    entry.askedAtMs = askedAtMs
    entry.askedAt = askedAt
    entry.restUntilMs = askedAtMs + Math.min(answer.retryAfterMs ?? 0, parts.restMsMax)
    if (answer.misfit) entry.misfits++
    entry.said.set(name, answer.said.slice(0, WORDS_CHARS_MAX))
  }

  function forgetOld(now: number): void {
    for (const [key, { askedAtMs, waiting }] of missing)
      if (waiting.size === 0 && now - askedAtMs > FORGET_MS) missing.delete(key)
  }

  const silentMs = () => Math.max(SILENT_MS, 2 * (tracker().blockMs ?? 0))

  function isDue(entry: Missing): boolean {
    const now = clock.now()
    if (now < pausedUntilMs(entry)) return false
    return tracker().head?.hash !== entry.askedAt || now - entry.askedAtMs >= silentMs()
  }

  /** Wakes the callers of all due receipts in the same turn, so that one batch takes them. */
  function round(): void {
    disarm?.()
    disarm = undefined
    for (const entry of [...missing.values()].filter((one) => one.waiting.size > 0 && isDue(one))) free(entry)
    arm()
  }

  function free({ waiting }: Missing): void {
    const all = [...waiting]
    waiting.clear()
    waiters -= all.length
    for (const done of all) done()
    stopIfIdle()
  }

  function shown(key: string): void {
    const entry = missing.get(key)
    missing.delete(key)
    if (entry) free(entry)
  }

  function arm(): void {
    if (disarm !== undefined || waiters === 0) return
    const waiting = [...missing.values()].filter((entry) => entry.waiting.size > 0)
    const atMs = Math.min(
      ...waiting.map((entry) => Math.max(pausedUntilMs(entry), entry.askedAtMs + silentMs())),
    )
    const off = tracker().onHead(round)
    const cancel: CancelTimer = clock.setTimer(round, Math.max(1, atMs - clock.now()))
    disarm = () => {
      off()
      cancel()
    }
  }

  function stopIfIdle(): void {
    if (waiters > 0) return
    disarm?.()
    disarm = undefined
  }

  return {
    get: (key) => missing.get(key),
    asksOf: (key = '') => missing.get(key)?.asks ?? 0,
    note,
    shown,
    due(key) {
      const entry = missing.get(key)
      if (entry === undefined || isDue(entry)) return { promise: Promise.resolve(), drop() {} }
      let drop = () => {}
      const promise = new Promise<void>((done) => {
        entry.waiting.add(done)
        waiters++
        drop = () => {
          if (entry.waiting.delete(done)) waiters--
          stopIfIdle()
        }
      })
      arm()
      return { promise, drop }
    },
  }
}

/** Pauses of one length end at the same moments, whenever they began, so that one batch takes all of their receipts. */
function pausedUntilMs({ askedAtMs, pauseMs, restUntilMs }: Missing): number {
  if (pauseMs === 0) return Math.max(askedAtMs, restUntilMs)
  const next = (Math.floor(askedAtMs / pauseMs) + 1) * pauseMs
  return Math.max(next - askedAtMs < pauseMs / 2 ? next + pauseMs : next, restUntilMs)
}
