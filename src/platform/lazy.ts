import { TxlaneError } from '../errors/base.js'

/**
 * Loads code on the first call that needs it, once for all callers. Later calls get the code synchronously.
 *
 * @throws TxlaneError `REJECTED` if the code cannot be loaded, for example because a page is offline or its
 *   server has a newer version. The failure is not cached: the next call tries again.
 */
export function createLoader<code>(what: string, load: () => Promise<code>): () => code | Promise<code> {
  let loaded: code | undefined
  let loading: Promise<code> | undefined

  async function begin(): Promise<code> {
    try {
      loaded = await load()
      return loaded
    } catch (error) {
      loading = undefined
      throw new TxlaneError(`${what} could not be loaded.`, {
        code: 'REJECTED',
        fate: 'notExecuted',
        cause: error,
      })
    }
  }

  return () => {
    if (loaded !== undefined) return loaded
    loading ??= begin()
    return loading
  }
}

/** Calls `use` synchronously if the code is already loaded. */
export function whenLoaded<code extends object, T>(
  code: code | Promise<code>,
  use: (code: code) => Promise<T>,
): Promise<T> {
  return 'then' in code ? code.then(use) : use(code)
}
