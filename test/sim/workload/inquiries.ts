import type { Hash } from 'viem'
import type { SubjectOptions, SubjectRequest, SubjectStage, SubjectTx } from '../subjectTypes.js'
import { type Calls, failed } from './calls.js'

/** The requests of a careful caller, which repeats them until it knows the outcome of its transaction. */
export type Inquiries = {
  /** Sends. Searches for a transaction that may be in flight, and sends it again by its id if there is none. */
  send(marker: number, request: SubjectRequest, options: SubjectOptions): Promise<SubjectTx | undefined>
  /** A transaction that was given up in flight continues by itself: it is found again by its id. */
  again(marker: number, id: TxId): Promise<Found>
  /** Waits before the next try. A pause counts as an open promise, because the caller will continue. */
  pause(marker: number): Promise<void>
  follow(marker: number, tx: SubjectTx, stage: SubjectStage): Promise<void>
  /** Follows the result of `again`. A transaction that is not known must never happen. */
  followFound(marker: number, found: Found, stage: SubjectStage): Promise<void>
}

type TxId = string | { readonly hash: Hash }

const NOT_KNOWN = Symbol('not known')
/** A transaction; `NOT_KNOWN` if the subject has none, and undefined if the query failed for good. */
type Found = SubjectTx | undefined | typeof NOT_KNOWN
const ASK_AGAIN_MS = 1_000

export function createInquiries({ asked, tell, plan }: Calls): Inquiries {
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

  async function follow(marker: number, tx: SubjectTx, stage: SubjectStage): Promise<void> {
    if (stage === 'preconfirmed') await asked(marker, 'wait preconfirmed', () => tx.wait('preconfirmed'))
    const landed = await asked(marker, 'wait sealed', () => tx.wait('sealed'))
    if (!failed(landed)) return tell(marker, 'executed', 'wait sealed', false, landed.hash)
    if (landed.fate !== 'inFlight') return
    // The outcome is unknown until an operator resolves it.
    await pause(marker)
    const found = await again(marker, tx.id)
    if (found !== NOT_KNOWN && found !== undefined) await follow(marker, found, 'sealed')
  }

  async function followFound(marker: number, found: Found, stage: SubjectStage): Promise<void> {
    if (found === NOT_KNOWN) tell(marker, 'notExecuted', 'get nothing', true)
    else if (found !== undefined) await follow(marker, found, stage)
  }

  return { send, again, pause, follow, followFound }
}
