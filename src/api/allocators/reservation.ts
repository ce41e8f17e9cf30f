import type { Hex } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { classifySendError } from '../../rpc/classify.js'
import type { SendOutcome } from '../../rpc/outcome.js'

/** What goes out under a reserved nonce: signed bytes, or what a contract takes with its own nonce. */
export type CommitParameters =
  /** A signed transaction of the account, at the reserved nonce. */
  | { readonly serializedTransaction: Hex }
  /** For a nonce that a contract holds: the bytes that the contract takes. */
  | { readonly payload: Hex }

/**
 * One nonce in the caller's hands. `commit` comes before the bytes are sent, `settle` after; `release` instead of
 * both, when nothing was sent.
 *
 * Leaving an `await using` block without any of them says nothing: the nonce stays taken, since it may have been
 * used, until the chain shows by whom, or for `limits.reservationTtlMs`. Release it where you know better.
 */
export interface Reservation<nonce extends number | bigint = number> extends AsyncDisposable {
  /** The caller's alone until it is given back or used. */
  readonly nonce: nonce
  /**
   * Takes note of what is about to be sent. Resolves once it is in the store; send nothing before. From then on the
   * lane follows the transaction, sends the same bytes again to its own endpoints where they stand still, and never
   * gives the nonce to anything else. Other bytes for the same nonce may be committed as well: at most one of them
   * lands. It does not send: that is the caller's.
   *
   * A `payload` with a nonce that a contract holds is not kept, and not sent again: it is the caller's to bring in,
   * with any number of carriers. The nonce is never given to anything else until the counter has passed it.
   *
   * @throws TxlaneError `INVALID` or `CHAIN_MISMATCH` for bytes of another chain, account or nonce; `TOO_LATE` when
   *   the nonce was used or given back; `CLOSED`. Then nothing was noted: do not send. `CLOSED` with the fate `inFlight`:
   *   the lane closed before the store had answered, so that the bytes may be noted. Do not send them either; whoever opens
   *   the lane next knows, by their hash.
   */
  commit(parameters: CommitParameters): Promise<void>
  /**
   * Says how sending went: without an error it was accepted. An error that no node can mend frees the nonce; after
   * any other it is unknown whether the bytes arrived, so the nonce stays taken. No error frees a nonce that a
   * contract holds: whatever became of one carrier, who saw its payload may bring it in with another.
   */
  settle(error?: unknown): Promise<void>
  /**
   * Gives the nonce back: the next reservation gets it. Asserts that nothing was sent under it. Calling it again
   * does nothing.
   *
   * @throws TxlaneError `TOO_LATE` after `commit` or `settle`: something may have been sent
   */
  release(): Promise<void>
}

export type ReservationBacking<nonce, bytes> = {
  readonly nonce: nonce
  /** What goes out is carried by something else, so that no fate of the carrier frees the nonce. */
  readonly carried?: true
  /** Checks what is to be committed, and throws where it is not for this nonce. */
  read(parameters: CommitParameters): Promise<bytes>
  keep(bytes: bytes): Promise<void>
  /** What became of sending committed bytes. True when that freed the nonce. */
  outcome(outcome: SendOutcome['outcome'], bytes: bytes): boolean
  renew(): void
  release(): Promise<void>
}

/** What is known of a reservation: `unknown` once it may have been used without a word. */
type State<bytes> =
  | { readonly is: 'open' | 'unknown' | 'released' }
  | { readonly is: 'committed'; readonly bytes: bytes }

export function createReservation<nonce extends number | bigint, bytes>(
  backing: ReservationBacking<nonce, bytes>,
): Reservation<nonce> {
  let state: State<bytes> = { is: 'open' }

  async function giveBack(): Promise<void> {
    state = { is: 'released' }
    await backing.release()
  }

  return {
    nonce: backing.nonce,
    async commit(parameters) {
      if (state.is === 'released') throw releasedError(backing.nonce)
      const bytes = await backing.read(parameters)
      // It takes time to check a signature.
      if (isReleased(state)) throw releasedError(backing.nonce)
      state = { is: 'committed', bytes }
      await backing.keep(bytes)
    },
    async settle(error) {
      if (state.is === 'released') return
      const outcome = error === undefined ? 'accepted' : classifySendError(error).outcome
      if (state.is === 'committed') {
        if (backing.outcome(outcome, state.bytes)) state = { is: 'released' }
        return
      }
      if (state.is === 'open' && outcome === 'intrinsic' && !backing.carried) return giveBack()
      state = { is: 'unknown' }
      backing.renew()
    },
    async release() {
      if (state.is === 'released') return
      if (state.is !== 'open') throw usedError(backing.nonce)
      await giveBack()
    },
    async [Symbol.asyncDispose]() {
      if (state.is === 'open') state = { is: 'unknown' }
    },
  }
}

function isReleased(state: State<unknown>): boolean {
  return state.is === 'released'
}

function releasedError(nonce: number | bigint): TxlaneError {
  return new TxlaneError(`Nonce ${nonce} was given back: something else may have it.`, {
    code: 'TOO_LATE',
    fate: 'notExecuted',
  })
}

function usedError(nonce: number | bigint): TxlaneError {
  return new TxlaneError(`Nonce ${nonce} cannot be given back: something may have been sent under it.`, {
    code: 'TOO_LATE',
    fate: 'inFlight',
  })
}
