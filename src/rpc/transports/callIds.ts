// Ids stay below 2^31, because some servers parse an id as an i32, and far above the ids that viem counts
// from 0: on a shared WebSocket, viem dispatches an answer by its id alone.
const FIRST = 1_000_000_000
const LAST = 2_000_000_000

const KEY = Symbol.for('txlane.rpc.nextCallId')

/**
 * Reserves `count` consecutive ids that no other open call of this process uses, and returns the first. The
 * counter is on `globalThis`, because an ESM and a CJS copy of the package may share one of viem's sockets.
 */
export function takeCallIds(count: number): number {
  const shared = globalThis as { [KEY]?: number }
  const next = shared[KEY] ?? FIRST
  const first = next + count > LAST ? FIRST : next
  shared[KEY] = first + count
  return first
}
