import type { Random } from '../../../src/platform/clock.js'
import type { RpcCall } from '../../../src/rpc/port.js'
import { between, chance, pick } from '../random.js'

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

/** The wrong answers of an endpoint for a time, by name. Its other answers are true meanwhile. */
const TIMED = {
  /** Counts without any use behind them, from a bad backend behind a load balancer. */
  countAhead: {
    targets: ['countLatest', 'countPending', 'countAtNumber', 'countAtHash'],
    hows: off([1, 2, 3, 5, 100]),
  },
  /**
   * From a relay that answers so on purpose. No other count agrees with it, because a starting lane could
   * not notice otherwise.
   */
  pendingFarAhead: { targets: ['countPending'], hows: off([1_000_000, 1_000_000_001]) },
  countBehind: {
    targets: ['countLatest', 'countPending', 'countAtNumber', 'countAtHash'],
    hows: off([-1, -2, -3, -5, -100]),
  },
  /** The count at block N is that of N + 2. */
  countTwoLater: { targets: ['countAtNumber', 'countAtHash'], hows: [{ kind: 'twoLater' }] },
  countOfLatest: {
    targets: ['countPending', 'countAtNumber', 'countAtHash'],
    hows: [{ kind: 'blockIgnored', shows: 'latest' }],
  },
  countOfPending: {
    targets: ['countLatest', 'countAtNumber', 'countAtHash'],
    hows: [{ kind: 'blockIgnored', shows: 'pending' }],
  },
  /** The right hash and `gasUsed`, and no transactions: a header that was indexed before its body. */
  emptyBodies: {
    targets: ['headerByNumber', 'bodyByNumber', 'blockByHash'],
    hows: [{ kind: 'emptyBody' }],
  },
  lackingBodies: {
    targets: ['headerByNumber', 'bodyByNumber', 'blockByHash'],
    hows: [{ kind: 'lackingBody' }],
  },
  headAhead: { targets: ['latestHeader'], hows: off([1, 2, 5, 100, 1_000_000]) },
  headBehind: { targets: ['latestHeader'], hows: off([-1, -2, -5]) },
  missingReceipts: { targets: ['receipt', 'blockReceipts'], hows: [{ kind: 'null' }] },
} as const satisfies Record<string, { targets: readonly Target[]; hows: readonly How[] }>

type TimedName = keyof typeof TIMED

/** One of these faults at one question. */
export type NamedFault = TimedFault & { readonly name: TimedName }

export const TIMED_NAMES = Object.keys(TIMED) as readonly TimedName[]
const FOR_MS_MAX = 15_000

/**
 * The name under which coverage counts each fault at each question. Two are rare and merged: a body is
 * requested by number only if its hash is unknown, and a count by hash only if a delegated account may have
 * used a nonce without a trace.
 */
export function strikeOf({ name, target }: Pick<NamedFault, 'name' | 'target'>): string {
  if (target === 'countAtHash') return target
  return `${name} ${target === 'bodyByNumber' ? 'blockByHash' : target}`
}

/** All names of `strikeOf`. */
export const TIMED_STRIKES: ReadonlySet<string> = new Set(
  TIMED_NAMES.flatMap((name) => TIMED[name].targets.map((target) => strikeOf({ name, target }))),
)

// Faults of bodies are weighted, because they rarely strike at the critical moment, when a witness is read a
// second time.
const DRAWN: readonly TimedName[] = [
  ...TIMED_NAMES,
  ...TIMED_NAMES.filter((name) => name.endsWith('Bodies')).flatMap((name) => [name, name]),
]

/** Faults of one endpoint, in some worlds; at one question only, or at all that its backend answers. */
export function drawTimedFaults(random: Random, durationMs: number): NamedFault[] {
  if (!chance(random, 0.3)) return []
  return Array.from({ length: pick(random, [1, 1, 2, 3]) }, () => {
    const name = pick(random, DRAWN)
    const targets: readonly Target[] = TIMED[name].targets
    const hows: readonly How[] = TIMED[name].hows
    const how = pick(random, hows)
    const fromMs = between(random, 0, Math.floor(durationMs * 0.8))
    const longest = Math.min(FOR_MS_MAX, durationMs)
    const forMs = chance(random, 0.3) ? between(random, 100, 1_000) : between(random, 1_000, longest)
    return (chance(random, 0.5) ? targets : [pick(random, targets)]).map((target) => ({
      name,
      target,
      how,
      fromMs,
      forMs,
    }))
  }).flat()
}

function off(numbers: readonly number[]): readonly How[] {
  return numbers.map((by) => ({ kind: 'off', by }))
}
