import { isTxlaneError, TxlaneError } from '../errors/base.js'
import { raceAbort } from './onAbort.js'

/** A shared object: the first holder opens it, and it stops when the last holder has released it. */
type Entry<T> = {
  readonly opened: Promise<T>
  /** The shared object, once it is open. */
  value: T | undefined
  holders: number
  /** The last holder has released it. Resolves when the shared object has stopped. */
  stopping: Promise<void> | undefined
}

export type Held<T> = {
  readonly value: T
  /**
   * Releases the shared object. For the last holder it calls `stop`, and the next opener of the same name waits for that:
   * otherwise it could find the lease of a lane taken that is being given back. A second call does nothing.
   */
  release(stop: () => Promise<void> | void): Promise<void>
}

/**
 * Opens the object with this key, or shares the open one. A failed opening is not kept: the next caller tries again.
 *
 * `closing` ends the wait for an object that another caller opens or stops. The opener itself waits for the end of `open`, which
 * has to obey the signal.
 */
export async function hold<T>(
  entries: Map<string, unknown>,
  key: string,
  open: () => Promise<T>,
  closing?: AbortSignal | undefined,
): Promise<Held<T>> {
  let entry = entries.get(key) as Entry<T> | undefined
  while (entry?.stopping !== undefined) {
    await unlessClosed(entry.stopping, closing)
    entry = entries.get(key) as Entry<T> | undefined
  }
  if (entry === undefined) {
    const begun: Entry<T> = { opened: open(), value: undefined, holders: 0, stopping: undefined }
    entries.set(key, begun)
    entry = begun
  }
  const mine = entry
  const isOpener = mine.holders === 0
  mine.holders++
  try {
    mine.value = await (isOpener ? mine.opened : unlessClosed(mine.opened, closing))
    return { value: mine.value, release: releaser(entries, key, mine) }
  } catch (error) {
    mine.holders--
    // The opener still waits for the object.
    if (!isOpener && closing?.aborted) throw error
    if (entries.get(key) === mine) entries.delete(key)
    // The opener closed before the object was open: the callers that waited with it open it for themselves.
    if (!isOpener && isTxlaneError(error) && error.code === 'CLOSED') return hold(entries, key, open, closing)
    throw error
  }
}

function unlessClosed<T>(promise: Promise<T>, closing: AbortSignal | undefined): Promise<T> {
  return closing === undefined ? promise : raceAbort(promise, [closing], closedWhileOpening)
}

export function closedWhileOpening(): TxlaneError {
  return new TxlaneError('It was closed before it was open.', { code: 'CLOSED', fate: 'notExecuted' })
}

/** The open object with this name, unless it is about to stop. */
export function shared<T>(entries: ReadonlyMap<string, unknown>, key: string): T | undefined {
  const entry = entries.get(key) as Entry<T> | undefined
  return entry?.stopping === undefined ? entry?.value : undefined
}

function releaser<T>(entries: Map<string, unknown>, key: string, entry: Entry<T>): Held<T>['release'] {
  let released = false
  return async (stop) => {
    if (released) return
    released = true
    entry.holders--
    if (entry.holders > 0) return
    const stopped = Promise.resolve()
      .then(stop)
      .finally(() => {
        if (entries.get(key) === entry) entries.delete(key)
      })
    // A failure of `stop` concerns the last holder, not the next one.
    entry.stopping = stopped.catch(() => {})
    await stopped
  }
}
