/** Something that several holders share: opened by the first, stopped when the last has let go. */
type Entry<T> = { readonly opened: Promise<T>; holders: number }

export type Held<T> = {
  readonly value: T
  /** True for the last holder: what was shared is to be stopped now. */
  release(): boolean
}

/**
 * Opens what `key` names, or shares it. A failed opening is not kept: the next caller tries anew.
 */
export async function hold<T>(entries: Map<string, unknown>, key: string, open: () => Promise<T>): Promise<Held<T>> {
  let entry = entries.get(key) as Entry<T> | undefined
  if (entry === undefined) {
    entry = { opened: open(), holders: 0 }
    entries.set(key, entry)
  }
  const mine = entry
  mine.holders++
  let released = false
  const release = (): boolean => {
    if (released) return false
    released = true
    mine.holders--
    if (mine.holders > 0) return false
    if (entries.get(key) === mine) entries.delete(key)
    return true
  }
  try {
    return { value: await mine.opened, release }
  } catch (error) {
    release()
    if (entries.get(key) === mine) entries.delete(key)
    throw error
  }
}
