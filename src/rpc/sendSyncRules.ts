import type { EndpointProfile } from './profile.js'

/** An observation about `eth_sendRawTransactionSync`. */
export type SendSyncObservation =
  /** A probe showed whether the endpoint has the method, and in which form. */
  | { readonly kind: 'sendSync'; readonly usable: NonNullable<EndpointProfile['sendSync']> }
  /** A sync send was answered: with a receipt, or about its bytes. */
  | { readonly kind: 'sendSyncAnswered' }
  /** A sync send ended without an answer that is known. */
  | { readonly kind: 'sendSyncLost' }

type SendSyncState = {
  readonly sendSync: EndpointProfile['sendSync']
  /** Number of consecutive sync sends that ended without a known answer. */
  readonly lost: number
}

// A request may be lost once or twice. A proxy that cuts every request that is held open does so each time.
const LOST_MAX = 3

export function reduceSendSync(
  { sendSync, lost }: SendSyncState,
  observation: SendSyncObservation,
): SendSyncState {
  switch (observation.kind) {
    case 'sendSync':
      return { sendSync: observation.usable, lost: 0 }
    case 'sendSyncAnswered':
      return { sendSync: sendSync || true, lost: 0 }
    case 'sendSyncLost':
      return { sendSync: lost + 1 < LOST_MAX && sendSync, lost: lost + 1 }
    default:
      return observation satisfies never
  }
}
