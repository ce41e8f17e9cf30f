import { isBody, isCount } from '../../../test/support/scriptedChain.js'
import type { RpcCall, RpcReply } from '../../rpc/port.js'
import { createNonceUsage } from './nonceUsage.js'
import type { ScriptedLane } from './scriptedLane.fixture.js'

export const blocks = (length: number, uses: Record<number, readonly (`0x${string}` | null)[]> = {}) =>
  Array.from({ length }, (_, number) => uses[number] ?? [])

export const usageOn = (lane: ScriptedLane) => createNonceUsage(lane.context, new Set(), () => undefined)
/** Ticks with this count for this time, with a block every `blockMs`; resolves when no search is running. */
export async function tick(
  lane: ScriptedLane,
  usage: ReturnType<typeof usageOn>,
  count: number,
  forMs: number,
  blockMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const beganMs = lane.clock.now()
  const from = lane.head
  for (let ms = 0; ms <= forMs; ms += 200) {
    lane.head = Math.min(lane.chain.newest, from + Math.floor(ms / blockMs))
    usage.count(count, lane.head)
    await usage.idle()
    await lane.clock.advance(Math.max(0, beganMs + ms + 200 - lane.clock.now()))
  }
}

export const REFUSED: RpcReply = {
  ok: false,
  failure: { kind: 'rpc', code: 4444, message: 'pruned history unavailable' },
}
export const noBodies = (call: RpcCall) => (isBody(call) ? REFUSED : undefined)
export const claims = (count: number) => (call: RpcCall) =>
  isCount(call) ? ({ ok: true, result: `0x${count.toString(16)}` } as const) : undefined

export function scriptAll(lane: ScriptedLane, script: (call: RpcCall) => RpcReply | undefined): void {
  for (const endpoint of lane.endpoints) endpoint.script = script
}
