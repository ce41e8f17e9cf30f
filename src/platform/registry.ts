import { isTxlaneError } from '../errors/base.js'

/** Something that several holders share: opened by the first, stopped when the last has let go. */
type Entry<T> = {
  readonly opened: Promise<T>
  /** Once it is open. */
  value: T | undefined
  holders: number
  /** The last has let go: resolves when what was shared has stopped. */
  stopping: Promise<void> | undefined
}

export type Held<T> = {
  readonly value: T
  /**
   * Lets go. The last holder has `stop` called, and whoever opens the same anew waits for it: a lane that gives its
   * lease back late must not be found taken. Does nothing the second time.
   */
  release(stop: () => Promise<void> | void): Promise<void>
}

/**
 * Opens what `key` names, or shares it. A failed opening is not kept: the next caller tries anew.
 */
export async function hold<T>(
  entries: Map<string, unknown>,
  key: string,
  open: () => Promise<T>,
): Promise<Held<T>> {
  let entry = entries.get(key) as Entry<T> | undefined
  while (entry?.stopping !== undefined) {
    await entry.stopping
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
    mine.value = await mine.opened
    return { value: mine.value, release: releaser(entries, key, mine) }
  } catch (error) {
    mine.holders--
    if (entries.get(key) === mine) entries.delete(key)
    // The opener closed before it was open: those who waited with it open it for themselves.
    if (!isOpener && isTxlaneError(error) && error.code === 'CLOSED') return hold(entries, key, open)
    throw error
  }
}

/** What is open under that name, and not about to stop. */
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
    // That it could not be stopped well concerns who let go, not who comes next.
    entry.stopping = stopped.catch(() => {})
    await stopped
  }
}
