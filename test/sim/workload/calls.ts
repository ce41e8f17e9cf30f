import type { Clock } from '../../../src/platform/clock.js'
import { markerOf } from '../ids.js'
import type { Telling } from '../oracle.js'
import type { Subject } from '../subjectTypes.js'

/** The rejection of a call; without a code if the error was not one of the library. */
export type Failed = { readonly fate: string; readonly code: string | undefined }

/** The caller's calls to the present process of the subject, and a record of their answers. */
export type Calls = {
  readonly tellings: readonly Telling[]
  /** Promises of the subject that have not settled, by name. */
  readonly open: ReadonlySet<string>
  /** Errors that are not typed: a caller cannot interpret them. */
  readonly untyped: readonly string[]
  /** False after the process has crashed, until the next one has begun. */
  readonly isAlive: boolean
  tell(marker: number, says: Telling['says'], how: string, final: boolean, hash?: Telling['hash']): void
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
  const tellings: Telling[] = []
  const open = new Set<string>()
  const untyped: string[] = []
  let life: { readonly subject: Subject } | undefined = { subject }

  function tell(marker: number, says: Telling['says'], how: string, final: boolean, hash?: Telling['hash']) {
    tellings.push({ marker, atMs: clock.now(), says, how, final, hash })
  }

  function rejected(marker: number, how: string, error: unknown): Failed {
    const { fate, code, tx } = error as { fate?: Telling['says']; code?: string; tx?: { id: string } }
    if (fate === undefined || code === undefined) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      untyped.push(`${how} of ${marker}: ${text}`)
      return { fate: 'inFlight', code: undefined }
    }
    // The error of a sequence names the refused member, and its fate is that of the whole call.
    const isWhole = tx === undefined || how === 'sendSequence'
    const named = isWhole ? marker : (markerOf(tx.id) ?? marker)
    if (how !== 'speedUp') tell(named, fate, `${how} ${code}`, fate === 'notExecuted')
    if (named === marker) return { fate, code }
    // The error concerns the transaction that was to be replaced: the replacement was not admitted at all.
    tell(marker, 'notExecuted', `${how} ${code}`, true)
    return { fate: 'notExecuted', code }
  }

  function later(afterMs: number, act: () => Promise<void>): void {
    const mine = life
    clock.setTimer(() => {
      if (mine === life) void act()
    }, afterMs)
  }

  return {
    tellings,
    open,
    untyped,
    get isAlive() {
      return life !== undefined
    },
    tell,
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
