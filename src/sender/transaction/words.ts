import type { Hash, Hex } from 'viem'
import type { ErrorTx } from '../../errors/base.js'
import type { Stage } from '../../types.js'
import type { Transaction } from './transaction.js'

// Apart from what a transaction does: whoever only checks what callers give loads no lane with it.

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
 * Where a `Tx` keeps what it is the face of: a function, so that whoever prints a face, or walks through it, does not
 * come upon what the lane keeps. Registered, so that the copies of the package know each other's.
 */
export const TRANSACTION: unique symbol = Symbol.for('txlane.transaction') as never

/** What a `Tx` is the face of; undefined for anything else. */
export function transactionOf(tx: unknown): Transaction | undefined {
  return (tx as { [TRANSACTION]?: () => Transaction } | null | undefined)?.[TRANSACTION]?.()
}

/** Where a `Tx` keeps the signed bytes of its newest attempt: a function, for the same reasons. */
export const RAW: unique symbol = Symbol.for('txlane.raw') as never

/** Undefined for anything but a `Tx`, where another process holds its lane, and once its nonce is final. */
export function rawOf(tx: unknown): Hex | undefined {
  return (tx as { [RAW]?: () => Hex | undefined } | null | undefined)?.[RAW]?.()
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
