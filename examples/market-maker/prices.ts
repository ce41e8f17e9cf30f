import { setTimeout as pause } from 'node:timers/promises'

export type Price = { readonly bid: bigint; readonly ask: bigint }

/** A random walk around 3,000. Undefined if no price is available for now. */
export async function* prices(everyMs: number, signal: AbortSignal): AsyncGenerator<Price | undefined> {
  let mid = 300_000n
  for (let count = 1; !signal.aborted; count++) {
    mid += BigInt(Math.floor(Math.random() * 201) - 100)
    yield count % 10 === 0 ? undefined : { bid: mid - 50n, ask: mid + 50n }
    await pause(everyMs, undefined, { signal }).catch(() => {})
  }
}
