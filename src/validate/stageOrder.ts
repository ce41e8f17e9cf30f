import type { Hash, Hex } from 'viem'
import type { ErrorTx } from '../errors/base.js'
import type { Stage } from '../types/index.js'

// This module is outside `lane/`, so that input validation does not pull the engine into the bundle.

/** The stages of a transaction that executes, in their order. */
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

/** The prefix of the ids of attempts that code outside txlane signed. Callers may not choose such an id. */
export const OUTSIDE_PREFIX = 'outside:'

export const outsideId = (hash: Hex): string => `${OUTSIDE_PREFIX}${hash}`

/** Code outside txlane signed the bytes: txlane can watch and resend them, but not bump them. */
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

type TxSummary = {
  readonly id: string
  readonly stage: Stage
  readonly nonce?: number | undefined
  readonly hash?: Hash | undefined
}

/** The part of a transaction that an error shows: plain JSON, no bytes, no keys. */
export function errorTxOf({ id, stage, nonce, hash }: TxSummary): ErrorTx & { readonly stage: Stage } {
  return { id, stage, ...(nonce === undefined ? {} : { nonce }), ...(hash === undefined ? {} : { hash }) }
}
