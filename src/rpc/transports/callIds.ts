// Below 2^31, since some servers read an id into an i32, and far above the ids that viem counts from 0: on a
// WebSocket that both use, viem hands an answer to whoever waits for its id.
const FIRST = 1_000_000_000
const LAST = 2_000_000_000

const KEY = Symbol.for('txlane.rpc.nextCallId')

/**
 * The first of `count` ids in a row that no other open call of this process uses. Counted on `globalThis`: an ESM
 * and a CJS copy of the package may share one of viem's sockets.
 */
export function takeCallIds(count: number): number {
  const shared = globalThis as { [KEY]?: number }
  const next = shared[KEY] ?? FIRST
  const first = next + count > LAST ? FIRST : next
  shared[KEY] = first + count
  return first
}
