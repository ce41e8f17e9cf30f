import { TxlaneError } from '../../errors/base.js'
import { raceAbort } from '../../platform/onAbort.js'

/** The signals that end a wait: that of the caller, if any, and that of the allocator, whose reason is the error for its callers. */
export type Ends = { readonly signal?: AbortSignal | undefined; readonly closing: AbortSignal }

/** Settles like the promise, or rejects once the allocator closes or the caller aborts. */
export function untilEnded<T>(promise: Promise<T>, { signal, closing }: Ends): Promise<T> {
  return raceAbort(promise, [signal, closing], (end) => (end === closing ? closing.reason : abortedError()))
}

export function abortedError(): TxlaneError {
  return new TxlaneError('The reservation was aborted.', { code: 'ABORTED', fate: 'notExecuted' })
}

export function closedError(): TxlaneError {
  return new TxlaneError('The allocator is closed.', { code: 'CLOSED', fate: 'notExecuted' })
}
