import { TxlaneError } from '../errors/base.js'

/**
 * Code that nobody needs before the first call that uses it: loaded by that call, once for all who ask, and there in
 * the turn of the call from then on.
 *
 * @throws TxlaneError `REJECTED` where it cannot be loaded: a page is offline, say, or its server has a newer version
 *   by now. That is not kept: the next call asks for it again.
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

/** In the turn of the call where it is loaded. */
export function whenLoaded<code extends object, T>(
  code: code | Promise<code>,
  use: (code: code) => Promise<T>,
): Promise<T> {
  return 'then' in code ? code.then(use) : use(code)
}
