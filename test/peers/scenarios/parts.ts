import type { Hex } from 'viem'
import type { FaultHandle, FaultRule } from '../../../tools/devnet/index.js'
import type { Asked, PaymentFields, Stage, World } from '../types.js'

export const SEND = ['eth_sendRawTransaction', 'eth_sendRawTransactionSync']

const GWEI = 1_000_000_000n

/** Enough above every sender's default fees (at most 2.2 gwei here) to replace a transaction in any pool. */
export const DEARER = { maxFeePerGas: 6n * GWEI, maxPriorityFeePerGas: 3n * GWEI } as const
/** Below the base fee of 1 gwei. */
export const TOO_CHEAP = { maxFeePerGas: GWEI / 2n, maxPriorityFeePerGas: GWEI / 10n } as const
/** The gas of a transfer, for payments that must not depend on an estimate. */
export const TRANSFER = { gas: 21_000n } as const

/** A node's answer to an estimate that it could not make. Senders do not retry this error by themselves. */
export const REVERTED = { code: 3, message: 'execution reverted', data: '0x' } as const

/** Requests this number of payments at once. */
export function burst(stage: Stage, count: number, fields: PaymentFields = {}): readonly Asked[] {
  return Array.from({ length: count }, () => stage.pay(fields))
}

/** Waits until the sender has given its first answer to each. */
export async function answered(asked: readonly Asked[]): Promise<void> {
  await Promise.all(asked.map(({ sent }) => sent))
}

/** Waits until the node has received this many sends, or they will not come. */
export function arrived(world: World, count: number): Promise<boolean> {
  const before = world.sends()
  return world.until(() => world.sends() - before >= count)
}

/**
 * The answer of a gateway that retries by itself: the first try succeeded, and the sender gets the node's
 * answer to the second. Resolves when the node has the transaction.
 */
export async function behindGateway(world: World, message: string): Promise<void> {
  let raw: Hex | undefined
  const once = { method: SEND, count: 1 }
  world.faults.inject({ ...once, fault: 'delay', delayMs: 150 })
  world.faults.inject({
    ...once,
    fault: 'rpcError',
    code: -32_000,
    message,
    match({ params }) {
      raw ??= params[0] as Hex
      return true
    },
  })
  await world.until(() => raw !== undefined)
  if (raw !== undefined) await world.devnet.client().sendRawTransaction({ serializedTransaction: raw })
}

/**
 * The rule of a node that keeps no transaction for later: it accepts only the very next nonce of the
 * account. `lost` is a rule injected before it, whose requests never reach the node.
 */
export function strictNonces(next: number, lost?: FaultHandle): FaultRule {
  let expected = next
  let lostBefore = 0
  return {
    fault: 'rpcError',
    code: -32_000,
    message: 'nonce too high',
    method: SEND,
    match({ nonce }) {
      const arrives = lost === undefined || lost.hits === lostBefore
      lostBefore = lost?.hits ?? 0
      if (nonce === expected && arrives) expected += 1
      return nonce !== undefined && nonce >= expected
    },
  }
}
