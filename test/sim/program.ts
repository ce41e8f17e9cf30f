import type { Address, Hex } from 'viem'
import type { SimTransaction } from './transaction.js'

/**
 * What a workload writes into its transactions, so that the chain knows what to do with them and the check at the
 * end knows which is which. A marker is an integer below 2^32, one for each thing that must happen once.
 */
export type Program =
  /** Plain value, no calldata: the marker is the recipient. */
  | { readonly kind: 'transfer'; readonly marker: number }
  /** Writes storage slot `marker` of the contract. */
  | { readonly kind: 'call'; readonly marker: number }
  /** Executes and reverts, whatever the state. */
  | { readonly kind: 'revert'; readonly marker: number }
  /** Reverts unless slot `needs` of the contract was written before, as an approval must come before its use. */
  | { readonly kind: 'dependent'; readonly marker: number; readonly needs: number }
  | { readonly kind: 'create'; readonly marker: number }

/** The contract that `call`, `revert` and `dependent` address. */
const CONTRACT: Address = `0x${'c0de'.repeat(10)}`

// 16 bytes, with room for a marker of 4 behind them.
const MARKED_RECIPIENT = `0x7a${'0'.repeat(30)}`
const OPERATIONS = { call: 'c1', revert: 'de', dependent: 'd0', create: '60' } as const
type Operation = keyof typeof OPERATIONS

/** The request that carries a program out. */
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

/** What a `call` that succeeds leaves behind. */
export function effectOf(marker: number): { address: Address; slot: Hex; value: Hex } {
  return { address: CONTRACT, slot: `0x${marker.toString(16)}`, value: `0x${'0'.repeat(63)}1` }
}

// More than the simulated node takes (`bytesMax`), and quickly made.
const PADDING = '00'.repeat(4_096)

// What a signature spoils, as far as a simulated node checks it.
const SPOILED = 'f1'.repeat(64)

/** Whether the data says that the signature over it is none. */
export function isSpoiled(data: Hex): boolean {
  return data.endsWith(SPOILED)
}

/** The same, in bytes that no client may ever include. */
export function spoiled<request extends { data?: Hex }>(request: request): request {
  return { ...request, data: `${request.data ?? '0x'}${SPOILED}` }
}

/** The same, with more data than a node takes. */
export function oversized<request extends { data?: Hex }>(request: request): request {
  return { ...request, data: `${request.data ?? '0x'}${PADDING}` }
}

/** The program in a transaction; `undefined` for what no workload made: no-ops and foreign ones. */
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
