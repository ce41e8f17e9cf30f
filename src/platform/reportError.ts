import { safeError } from '../errors/redactError.js'
import type { Repeats } from './repeats.js'

/**
 * Reports an error of background work, for which no caller waits, as the event `error`. An error of a signer, a store or an
 * endpoint may quote a key or a URL: the event carries a copy without them. Repeats of the same error are counted.
 */
export function reportError({ errors }: { readonly errors: Repeats<Error> }, error: unknown): void {
  errors.note(safeError(error))
}
