import type { Hash, Hex } from 'viem'
import type { ErrorTx } from '../errors/base.js'
import type { Stage } from '../types/index.js'

// Kept out of the lane so that input validation does not pull the engine into the bundle.

/** Stages in the order in which a transaction that executes comes through them. */
export const ORDER: readonly Stage[] = [
  'queued',
  'signed',
  'accepted',
  'preconfirmed',
  'sealed',
  'safe',
  'finalized',
]

/** The message of `REVERTED`. */
export const REVERTED = 'It executed and reverted.'

/** Ids of attempts that outside code signed begin with it; callers may not choose such an id. */
export const OUTSIDE_PREFIX = 'outside:'

export const outsideId = (hash: Hex): string => `${OUTSIDE_PREFIX}${hash}`

/** Its bytes were signed by outside code: they can be watched and resent, not bumped. */
export const isOutsideId = (id: string): boolean => id.startsWith(OUTSIDE_PREFIX)

/**
 * Symbol under which a public `Tx` exposes its internal record. The value is a function, not a property, so that logging or
 * deep-comparing a `Tx` does not traverse internal state. The symbol is registered, so that several copies of the package
 * recognise each other's objects.
 */
export const TRANSACTION: unique symbol = Symbol.for('txlane.transaction') as never

/** True for a public `Tx`. */
export function isTx(value: unknown): boolean {
  return typeof (value as { [TRANSACTION]?: unknown } | null | undefined)?.[TRANSACTION] === 'function'
}

type Told = {
  readonly id: string
  readonly stage: Stage
  readonly nonce?: number | undefined
  readonly hash?: Hash | undefined
}

/** What an error says of a transaction: plain JSON, no bytes, no keys. */
export function errorTxOf({ id, stage, nonce, hash }: Told): ErrorTx & { readonly stage: Stage } {
  return { id, stage, ...(nonce === undefined ? {} : { nonce }), ...(hash === undefined ? {} : { hash }) }
}
