import type { Address, Hex } from 'viem'
import type { SimTransaction } from './transaction.js'

/**
 * The programs that a workload writes into its transactions. They define the execution on the chain, and
 * identify transactions in the final check. A marker is an integer below 2^32, one for each transaction that
 * must happen once.
 */
export type Program =
  /** Plain value, no calldata: the marker is the recipient. */
  | { readonly kind: 'transfer'; readonly marker: number }
  /** Writes storage slot `marker` of the contract. */
  | { readonly kind: 'call'; readonly marker: number }
  /** Executes and reverts, in every state. */
  | { readonly kind: 'revert'; readonly marker: number }
  /** Reverts unless slot `needs` of the contract was written before, as an approval must precede its use. */
  | { readonly kind: 'dependent'; readonly marker: number; readonly needs: number }
  | { readonly kind: 'create'; readonly marker: number }

/** The contract that `call`, `revert` and `dependent` address. */
const CONTRACT: Address = `0x${'c0de'.repeat(10)}`

// 16 bytes, with room for a marker of 4 after them.
const MARKED_RECIPIENT = `0x7a${'0'.repeat(30)}`
const OPERATIONS = { call: 'c1', revert: 'de', dependent: 'd0', create: '60' } as const
type Operation = keyof typeof OPERATIONS

/** The request that executes a program. */
export function programRequest(program: Program): { to?: Address; data?: Hex; value?: bigint } {
  const marker = word(program.marker)
  switch (program.kind) {
    case 'transfer':
      return { to: `${MARKED_RECIPIENT}${marker}` as Address, value: 1n }
    case 'create':
      return { data: `0x${OPERATIONS.create}${marker}` }
    case 'dependent':
      return { to: CONTRACT, data: `0x${OPERATIONS.dependent}${marker}${word(program.needs)}` }
    default:
      return { to: CONTRACT, data: `0x${OPERATIONS[program.kind]}${marker}` }
  }
}

/** The effect of a successful `call`. */
export function effectOf(marker: number): { address: Address; slot: Hex; value: Hex } {
  return { address: CONTRACT, slot: `0x${marker.toString(16)}`, value: `0x${'0'.repeat(63)}1` }
}

// More than the simulated node accepts (`bytesMax`), and quickly made.
const PADDING = '00'.repeat(4_096)

// Data that marks a spoiled signature, as far as a simulated node checks it.
const SPOILED = 'f1'.repeat(64)

/** True if the data marks the signature as invalid. */
export function isSpoiled(data: Hex): boolean {
  return data.endsWith(SPOILED)
}

/** The same request with an invalid signature, which no client may ever include. */
export function spoiled<request extends { data?: Hex }>(request: request): request {
  return { ...request, data: `${request.data ?? '0x'}${SPOILED}` }
}

/** The same request with more data than a node accepts. */
export function oversized<request extends { data?: Hex }>(request: request): request {
  return { ...request, data: `${request.data ?? '0x'}${PADDING}` }
}

/** The program in a transaction; `undefined` for transactions of no workload: no-ops and foreign ones. */
export function programOf(tx: Pick<SimTransaction, 'to' | 'data'>): Program | undefined {
  if (tx.to?.startsWith(MARKED_RECIPIENT)) {
    return { kind: 'transfer', marker: Number.parseInt(tx.to.slice(MARKED_RECIPIENT.length), 16) }
  }
  if (tx.to !== null && tx.to !== CONTRACT) return undefined
  const operation = tx.data.slice(2, 4)
  const kind = (Object.keys(OPERATIONS) as Operation[]).find((each) => OPERATIONS[each] === operation)
  const marker = Number.parseInt(tx.data.slice(4, 12), 16)
  if (kind === undefined || Number.isNaN(marker) || (kind === 'create') !== (tx.to === null)) return undefined
  if (kind === 'dependent') return { kind, marker, needs: Number.parseInt(tx.data.slice(12, 20), 16) }
  return { kind, marker }
}

function word(value: number): string {
  return value.toString(16).padStart(8, '0')
}
