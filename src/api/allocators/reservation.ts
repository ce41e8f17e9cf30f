import type { Hex } from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { classifySendError } from '../../rpc/classify.js'
import type { SendOutcome } from '../../rpc/outcome.js'

/** The bytes that a caller is about to send under a reserved nonce. */
export type CommitParameters =
  /** A signed transaction of the account, at the reserved nonce. */
  | { readonly serializedTransaction: Hex }
  /** For a nonce of a contract's counter: the bytes that the contract accepts with this nonce. */
  | { readonly payload: Hex }

/**
 * One nonce that is reserved for the caller. Call `commit` before the bytes are sent and `settle` after. If nothing was
 * sent, call `release` instead of both.
 *
 * Leaving an `await using` block without one of these calls does not release the nonce, because it may have been
 * used. The nonce stays taken until the chain shows its use, or for `limits.reservationTtlMs`. If nothing was sent,
 * release it.
 */
export interface Reservation<nonce extends number | bigint = number> extends AsyncDisposable {
  /** The reserved nonce. It belongs to the caller alone until it is released or used. */
  readonly nonce: nonce
  /**
   * Records the bytes that the caller is about to send. Resolves once they are in the store; send nothing before that.
   * From then on the lane follows the transaction, resends the same bytes to its own endpoints when the transaction
   * stalls, and never reuses the nonce. Other bytes for the same nonce may be committed as well: at most one of them
   * lands. `commit` does not send; the caller does.
   *
   * A `payload` for a contract's counter is stored and not sent. The caller brings it on chain, with any number of
   * carrier transactions. The nonce is not handed out again, in this process or another one that uses the store.
   *
   * @throws TxlaneError `INVALID` or `CHAIN_MISMATCH` for bytes of another chain, account or nonce; `TOO_LATE` if the
   *   nonce was used or released; `CLOSED`; `LEASE_LOST` for a contract's counter, if another process assigns its
   *   nonces by now. After these errors nothing was recorded: do not send. `CLOSED` or `LEASE_LOST` with the fate
   *   `inFlight`: the lane ended before the store had answered, so the bytes may be recorded. Do not send them either;
   *   the process that opens the lane next finds a recorded transaction by its hash, and a payload in `outstanding`.
   */
  commit(parameters: CommitParameters): Promise<void>
  /**
   * Reports the result of sending: without an error the bytes were accepted. An error of the transaction itself, which
   * every node would reject, frees the nonce. After any other error it is unknown whether the bytes arrived, so the
   * nonce stays taken. No error frees a nonce of a contract's counter: another carrier transaction may still bring
   * in the payload.
   */
  settle(error?: unknown): Promise<void>
  /**
   * Releases the nonce for the next reservation. The caller asserts that nothing was sent under it. A second call does
   * nothing.
   *
   * @throws TxlaneError `TOO_LATE` after `commit` or `settle`, because bytes may have been sent
   */
  release(): Promise<void>
}

export type ReservationBacking<nonce, bytes> = {
  readonly nonce: nonce
  /** The payload is carried by another transaction, so that no outcome of that transaction frees the nonce. */
  readonly carried?: true
  /** Checks the bytes to commit. Throws if they are not for this nonce. */
  read(parameters: CommitParameters): Promise<bytes>
  keep(bytes: bytes): Promise<void>
  /** Handles the outcome of sending committed bytes. Returns true if it freed the nonce. */
  outcome(outcome: SendOutcome['outcome'], bytes: bytes): boolean
  renew(): void
  release(): Promise<void>
}

/** The state of a reservation. `unknown`: the nonce may have been used without a `commit`. */
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
      // The check of a signature takes time: the nonce may have been released meanwhile.
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
