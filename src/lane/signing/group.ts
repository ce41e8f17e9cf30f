import type { Turns } from '../../platform/turns.js'

/**
 * Signatures that were asked for together. An account that signs in this process takes the event loop for itself: its
 * signatures are made in several turns, and still journaled in one write and sent in one request. One that signs elsewhere
 * (a key service, a hardware module) signs all of them at a time.
 */
export type SigningGroup = {
  /** What `start` resolves to, which is called in the order in which it was asked for. */
  sign<T>(start: () => Promise<T>): Promise<T>
  /** Resolves once none waits to be begun, and those that this process makes are made. Undefined where none is. */
  readonly whole: Promise<void> | undefined
}

export function createSigningGroup(turns: Turns): SigningGroup {
  const waiting: (() => Promise<void>)[] = []
  // Signatures under way that took more than the turn in which they were begun.
  let elsewhere = 0
  let whole: Promise<void> | undefined

  async function run(): Promise<void> {
    for (let start = waiting.shift(); start !== undefined; start = waiting.shift()) {
      if (turns.isSpent()) await turns.room()
      const signing = start()
      if (elsewhere === 0 && (await endsInTurn(signing))) continue
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
        waiting.push(async () => {
          try {
            resolve(await start())
          } catch (error) {
            reject(error)
          }
        })
        // A microtask later: what is asked for in the same turn is of the same group.
        whole ??= Promise.resolve().then(run)
      })
    },
    get whole() {
      return whole
    },
  }
}
