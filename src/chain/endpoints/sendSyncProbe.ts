import type { Clock } from '../../platform/clock.js'
import { probeSendSync } from '../../rpc/sendSync.js'
import type { PoolEndpoint } from './endpointPool.js'

/** An endpoint whose answers showed nothing is asked again after this time, in milliseconds. */
const AGAIN_MS = 60_000

const askedAt = new WeakMap<PoolEndpoint, number>()

/**
 * Asks an endpoint once whether it can answer a send with the receipt. The profile gets the answer. An endpoint
 * with the role `send` gets transactions only.
 */
export function askSendSync(
  endpoint: PoolEndpoint,
  { clock, timeoutMs }: { readonly clock: Pick<Clock, 'now'>; readonly timeoutMs: number },
): void {
  const { port, profile, role } = endpoint
  if (role === 'send' || profile.current().sendSync !== undefined) return
  const nowMs = clock.now()
  if (nowMs - (askedAt.get(endpoint) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return
  askedAt.set(endpoint, nowMs)
  // The port of reads waits for the request budget; a port never rejects.
  void probeSendSync(port, timeoutMs).then((usable) => {
    if (usable !== undefined) profile.observe({ kind: 'sendSync', usable })
  })
}
