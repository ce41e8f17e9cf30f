import { isTxlaneError, type TxlaneError } from '../../errors/base.js'
import type { RpcError } from '../../rpc/errors.js'
import { isPassingStatus, type Patience, pause } from './patientPort.js'

const TRIES = 3
const PAUSE_MS = 250

/**
 * Makes a read up to three times if an endpoint refuses it in words, which may be temporary ("header not found").
 * `patientPort` repeats calls without an answer.
 */
export async function retryRead<t>(read: () => Promise<t>, patience: Patience): Promise<t> {
  const { clock, untilMs, stop } = patience
  for (let tried = 1; ; tried += 1) {
    try {
      return await read()
    } catch (error) {
      if (tried === TRIES || stop.aborted || clock.now() >= untilMs || !isWorthAsking(error)) throw error
      await pause(patience, PAUSE_MS * tried)
    }
  }
}

/** A retry does not help against a wrong chain or a refused key. */
export function isWorthAsking(error: unknown): boolean {
  if (!isTxlaneError(error) || (error.code !== 'REJECTED' && error.code !== 'UNREACHABLE')) return false
  const { status } = wordOf(error)
  return status === undefined || isPassingStatus(status)
}

/** The words of the endpoint, in the error or in its cause. */
function wordOf(error: unknown): Partial<RpcError> {
  const { cause } = error as TxlaneError
  return isTxlaneError(cause) ? wordOf(cause) : (error as Partial<RpcError>)
}
