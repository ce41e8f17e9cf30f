import type { Turns } from '../../platform/turns.js'

/**
 * A batch of signatures that were requested together. An account that signs in this process blocks the event
 * loop, so its signatures are made over several turns, but still journaled in one write and sent in one
 * request. An account that signs elsewhere (a key service, a hardware module) signs all of them concurrently.
 */
export type SigningGroup = {
  /** Resolves to the result of `start`. The `start` functions are called in the order of the requests. */
  sign<T>(start: () => T | Promise<T>): Promise<T>
  /**
   * Resolves once every signature of the batch has started, and those of this process are done. Undefined if
   * there is no batch.
   */
  readonly whole: Promise<void> | undefined
}

export function createSigningGroup(turns: Turns): SigningGroup {
  // Each returns undefined if the signature is done when it returns.
  const waiting: (() => Promise<void> | undefined)[] = []
  // Signatures under way that took longer than the turn in which they started.
  let elsewhere = 0
  let whole: Promise<void> | undefined

  async function run(): Promise<void> {
    for (let start = waiting.shift(); start !== undefined; start = waiting.shift()) {
      if (turns.isSpent()) await turns.room()
      const signing = start()
      if (signing === undefined || (elsewhere === 0 && (await endsInTurn(signing)))) continue
      elsewhere++
      void signing.then(() => elsewhere--)
    }
    whole = undefined
  }

  function endsInTurn(signing: Promise<void>): Promise<boolean> {
    return Promise.race([signing.then(() => true), turns.next().then(() => false)])
  }

  return {
    sign(start) {
      return new Promise((resolve, reject) => {
        waiting.push(() => {
          try {
            const signing = start()
            if (signing instanceof Promise) return signing.then(resolve, reject)
            resolve(signing)
          } catch (error) {
            reject(error)
          }
          return undefined
        })
        // Starts in a microtask, so that all requests of one event-loop turn are in the same batch.
        whole ??= Promise.resolve().then(run)
      })
    },
    get whole() {
      return whole
    },
  }
}
