import type { RpcCall } from '../../../src/rpc/port.js'

/** The kinds of questions to an endpoint that faults distinguish. */
export type Target =
  | 'countLatest'
  | 'countPending'
  | 'countAtNumber'
  | 'countAtHash'
  | 'latestHeader'
  | 'pendingHeader'
  | 'headerByNumber'
  | 'bodyByNumber'
  | 'blockByHash'
  | 'receipt'
  | 'blockReceipts'
  | 'send'
  | 'estimate'
  | 'fees'
  | 'balance'
  | 'code'
  | 'storage'
  | 'chainId'

/** The kind of wrong answer. */
export type How =
  /** A number that is too high or too low: a count, a height, a balance, an estimate, a price. */
  | { readonly kind: 'off'; readonly by: number }
  | { readonly kind: 'null' }
  /** The answer of this many blocks ago. */
  | { readonly kind: 'stale'; readonly blocks: number }
  /** The answer at one tag, regardless of the requested block. */
  | { readonly kind: 'blockIgnored'; readonly shows: 'latest' | 'pending' }
  /** The answer of the block two above the requested one. */
  | { readonly kind: 'twoLater' }
  /** A value of the wrong shape. */
  | { readonly kind: 'malformed' }
  /** A block whose `gasUsed` is above 0 and whose list of transactions is empty. */
  | { readonly kind: 'emptyBody' }
  /** A block without some of its transactions. */
  | { readonly kind: 'lackingBody' }
  /** Alternately wrong and right; a block's parent is different each time. */
  | { readonly kind: 'contradictory' }
  | { readonly kind: 'slow'; readonly ms: number }
  | { readonly kind: 'neverAnswered' }
  | { readonly kind: 'refused'; readonly message: string; readonly code: number }
  /** HTTP 429. */
  | { readonly kind: 'tooMany'; readonly retryAfterS: number | undefined }
  /** A web page in place of JSON. */
  | { readonly kind: 'html' }

/** A period in which an endpoint errs in one way. */
export type TimedFault = {
  readonly target: Target
  readonly how: How
  /** Milliseconds of the world's time. */
  readonly fromMs: number
  readonly forMs: number
}

const BY_METHOD: Readonly<Record<string, (params: readonly unknown[]) => Target | undefined>> = {
  eth_getTransactionCount: ([, block]) => countTarget(block),
  eth_getBlockByNumber: ([block, full]) => blockTarget(block, full === true),
  eth_getBlockByHash: () => 'blockByHash',
  eth_getTransactionReceipt: () => 'receipt',
  eth_getBlockReceipts: () => 'blockReceipts',
  eth_sendRawTransaction: () => 'send',
  eth_estimateGas: () => 'estimate',
  eth_gasPrice: () => 'fees',
  eth_feeHistory: () => 'fees',
  eth_maxPriorityFeePerGas: () => 'fees',
  eth_getBalance: () => 'balance',
  eth_getCode: () => 'code',
  eth_getStorageAt: () => 'storage',
  eth_chainId: () => 'chainId',
}

/** The question of a call; undefined if no fault concerns it. */
export function targetOf({ method, params }: RpcCall): Target | undefined {
  return BY_METHOD[method]?.(params)
}

function countTarget(block: unknown): Target | undefined {
  if (block === 'latest' || block === undefined) return 'countLatest'
  if (block === 'pending') return 'countPending'
  return typeof block === 'string' ? 'countAtNumber' : 'countAtHash'
}

function blockTarget(block: unknown, full: boolean): Target | undefined {
  if (block === 'latest') return 'latestHeader'
  if (block === 'pending') return 'pendingHeader'
  if (typeof block !== 'string' || !block.startsWith('0x')) return undefined
  return full ? 'bodyByNumber' : 'headerByNumber'
}

/** True if the fault is active `ms` into the world. */
export function isActive({ fromMs, forMs }: TimedFault, ms: number): boolean {
  return ms >= fromMs && ms < fromMs + forMs
}

export function endOf(faults: readonly TimedFault[]): number {
  return faults.reduce((end, { fromMs, forMs }) => Math.max(end, fromMs + forMs), 0)
}

/** A name for the kind of a fault, as `--fault` takes it: `countLatest off 5`, `receipt null`. */
export function nameOfFault({ target, how }: Pick<TimedFault, 'target' | 'how'>): string {
  return `${target} ${nameOfHow(how)}`
}

function nameOfHow(how: How): string {
  switch (how.kind) {
    case 'off':
      return `off ${how.by}`
    case 'stale':
      return `stale ${how.blocks}`
    case 'blockIgnored':
      return `blockIgnored ${how.shows}`
    case 'slow':
      return `slow ${how.ms}`
    case 'tooMany':
      return `tooMany ${how.retryAfterS ?? 'unsaid'}`
    case 'refused':
      return `refused ${how.message}`
    default:
      return how.kind
  }
}
