import type { Hash } from 'viem'
import type { Clock } from '../../../src/platform/clock.js'
import { isTag, type Tag } from '../chain/tags.js'
import { markerOf } from '../ids.js'
import type { CallerReport } from '../oracle.js'
import type { Subject, SubjectOptions, SubjectRequest, SubjectStage, SubjectTx } from '../subjectTypes.js'

/** The rejection of a call; without a code if the error was not one of the library. */
type Failed = { readonly fate: string; readonly code: string | undefined }

/** The caller's calls to the present process of the subject, and a record of their answers. */
export type Calls = {
  readonly reports: readonly CallerReport[]
  /** Promises of the subject that have not settled, by name. */
  readonly open: ReadonlySet<string>
  /** Errors that are not typed: a caller cannot interpret them. */
  readonly untyped: readonly string[]
  /** False after the process has crashed, until the next one has begun. */
  readonly isAlive: boolean
  report(
    marker: number,
    says: CallerReport['says'],
    how: string,
    final: boolean,
    hash?: CallerReport['hash'],
  ): void
  /** Waits for a promise of the subject; a rejection is reported for `marker`. */
  asked<T>(marker: number, how: string, ask: (subject: Subject) => Promise<T>): Promise<T | Failed>
  /** Acts later, unless the process has crashed by then. */
  later(afterMs: number, act: () => Promise<void>): void
  /** The same under a name that counts as open meanwhile, so that the world does not end before it. */
  plan(name: string, afterMs: number, act: () => void | Promise<void>): void
  crashed(): void
  restarted(subject: Subject): void
}

const NEVER = new Promise<never>(() => {})

export const failed = (result: unknown): result is Failed =>
  typeof result === 'object' && result !== null && 'fate' in result

export function createCalls(clock: Clock, subject: Subject): Calls {
  const reports: CallerReport[] = []
  const open = new Set<string>()
  const untyped: string[] = []
  let life: { readonly subject: Subject } | undefined = { subject }

  function report(
    marker: number,
    says: CallerReport['says'],
    how: string,
    final: boolean,
    hash?: CallerReport['hash'],
  ) {
    reports.push({ marker, atMs: clock.now(), says, how, final, hash })
  }

  function rejected(marker: number, how: string, error: unknown): Failed {
    const { fate, code, tx } = error as { fate?: CallerReport['says']; code?: string; tx?: { id: string } }
    if (fate === undefined || code === undefined) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      untyped.push(`${how} of ${marker}: ${text}`)
      return { fate: 'inFlight', code: undefined }
    }
    // The error of a sequence names the refused member, and its fate is that of the whole call.
    const isWhole = tx === undefined || how === 'sendSequence'
    const named = isWhole ? marker : (markerOf(tx.id) ?? marker)
    if (how !== 'speedUp') report(named, fate, `${how} ${code}`, fate === 'notExecuted')
    if (named === marker) return { fate, code }
    // The error concerns the transaction that was to be replaced: the replacement was not admitted at all.
    report(marker, 'notExecuted', `${how} ${code}`, true)
    return { fate: 'notExecuted', code }
  }

  function later(afterMs: number, act: () => Promise<void>): void {
    const mine = life
    clock.setTimer(() => {
      if (mine === life) void act()
    }, afterMs)
  }

  return {
    reports,
    open,
    untyped,
    get isAlive() {
      return life !== undefined
    },
    report,
    async asked(marker, how, ask) {
      const mine = life
      if (mine === undefined) return NEVER
      const name = `${how} of ${marker}`
      open.add(name)
      try {
        const result = await ask(mine.subject)
        return mine === life ? result : NEVER
      } catch (error) {
        return mine === life ? rejected(marker, how, error) : NEVER
      } finally {
        if (mine === life) open.delete(name)
      }
    },
    later,
    plan(name, afterMs, act) {
      open.add(name)
      later(afterMs, async () => {
        open.delete(name)
        await act()
      })
    },
    crashed() {
      life = undefined
      open.clear()
    },
    restarted(next) {
      life = { subject: next }
    },
  }
}

/** The requests of a careful caller, which repeats them until it knows the outcome of its transaction. */
export type Inquiries = {
  /** Sends. Searches for a transaction that may be in flight, and sends it again by its id if there is none. */
  send(marker: number, request: SubjectRequest, options: SubjectOptions): Promise<SubjectTx | undefined>
  /** A transaction that was given up in flight continues by itself: it is found again by its id. */
  again(marker: number, id: TxId): Promise<Found>
  /** Waits before the next try. A pause counts as an open promise, because the caller will continue. */
  pause(marker: number): Promise<void>
  /** Waits for the first receipt, and no longer, as `sendTransactionSync` does. */
  firstReceipt(marker: number, tx: SubjectTx, withinMs: number): Promise<void>
  follow(marker: number, tx: SubjectTx, stage: SubjectStage): Promise<void>
  /** Follows the result of `again`. A transaction that is not known must never happen. */
  followFound(marker: number, found: Found, stage: SubjectStage): Promise<void>
}

type TxId = string | { readonly hash: Hash }

const NOT_KNOWN = Symbol('not known')
/** A transaction; `NOT_KNOWN` if the subject has none, and undefined if the query failed for good. */
type Found = SubjectTx | undefined | typeof NOT_KNOWN
const ASK_AGAIN_MS = 1_000

/** Waits for the tags of the endpoints, which some worlds do not have, or have late. */
export type TagWaits = {
  /** How long the caller waits; undefined if the tag comes soon. */
  patienceMs(tag: Tag): number | undefined
  reached(marker: number, tag: Tag, hash: Hash): void
  /** The sender answers that there is no such tag. */
  refused(marker: number, tag: Tag): void
}

export const NO_TAG_WAITS: TagWaits = { patienceMs: () => undefined, reached() {}, refused() {} }

export function createInquiries({ asked, report, plan }: Calls, tags: TagWaits): Inquiries {
  async function send(
    marker: number,
    request: SubjectRequest,
    options: SubjectOptions,
  ): Promise<SubjectTx | undefined> {
    for (;;) {
      const sent = await asked(marker, 'send', (to) => to.send(request, options))
      if (!failed(sent)) return sent
      if (sent.fate !== 'inFlight') return undefined
      const found = await again(marker, options.id)
      if (found !== NOT_KNOWN) return found
      await pause(marker)
    }
  }

  async function again(marker: number, id: TxId): Promise<Found> {
    for (;;) {
      const found = await asked(marker, 'get', (from) => from.get(id))
      if (found === undefined) return NOT_KNOWN
      if (!failed(found)) return found
      if (found.fate !== 'inFlight') return undefined
      await pause(marker)
    }
  }

  function pause(marker: number): Promise<void> {
    return new Promise((resolve) => plan(`the next try of ${marker}`, ASK_AGAIN_MS, resolve))
  }

  async function firstReceipt(marker: number, tx: SubjectTx, withinMs: number): Promise<void> {
    await asked(marker, 'wait receipt', () => tx.wait('preconfirmed', { timeoutMs: withinMs }))
  }

  async function follow(marker: number, tx: SubjectTx, stage: SubjectStage): Promise<void> {
    if (stage === 'preconfirmed') await asked(marker, 'wait preconfirmed', () => tx.wait('preconfirmed'))
    const landed = await asked(marker, 'wait sealed', () => tx.wait('sealed'))
    if (!failed(landed)) {
      report(marker, 'executed', 'wait sealed', false, landed.hash)
      if (isTag(stage)) await followTag(marker, tx, stage)
      return
    }
    if (landed.fate !== 'inFlight') return
    // The outcome is unknown until an operator resolves it.
    await pause(marker)
    const found = await again(marker, tx.id)
    if (found !== NOT_KNOWN && found !== undefined) await follow(marker, found, 'sealed')
  }

  async function followTag(marker: number, tx: SubjectTx, tag: Tag): Promise<void> {
    const timeoutMs = tags.patienceMs(tag)
    const landed = await asked(marker, `wait ${tag}`, () =>
      tx.wait(tag, timeoutMs === undefined ? {} : { timeoutMs }),
    )
    if (!failed(landed)) tags.reached(marker, tag, landed.hash)
    else if (landed.code === 'UNSUPPORTED') tags.refused(marker, tag)
  }

  async function followFound(marker: number, found: Found, stage: SubjectStage): Promise<void> {
    if (found === NOT_KNOWN) report(marker, 'notExecuted', 'get nothing', true)
    else if (found !== undefined) await follow(marker, found, stage)
  }

  return { send, again, pause, firstReceipt, follow, followFound }
}
