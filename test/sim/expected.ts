import type { SendReason } from '../../src/index.js'
import { TABLE } from '../../src/ledger/table.js'
import { type Coverage, missing } from './coverage.js'
import type { Disturbance } from './disturbances.js'
import { WORST_STORE } from './plan.js'
import { POOL_OPTIONS } from './poolOptions.js'
import { PUSH_EVENTS } from './port/heads.js'
import { SYNC_EVENTS } from './port/syncSends.js'
import { TIMED_STRIKES } from './port/timedFault.js'
import { WORST } from './portPlan.js'

/**
 * The operator of these worlds states the truth; src/lane/confirmation/corrected.test.ts covers wrong
 * statements.
 */
const BEYOND_ROWS: ReadonlySet<number> = new Set([35])

/** Rows that only a world with reorgs beyond `lossDepth` takes. */
const DEEP_ROWS: ReadonlySet<number> = new Set([32])

/** The things that a long simulation must exercise, and did not. */
export function unexercised(
  { rows, outcomes, faults, sockets }: Coverage,
  { deep }: { deep: boolean },
): string[] {
  const expectedRows = TABLE.map(({ row }) => row).filter(
    (row) => !BEYOND_ROWS.has(row) && (deep || !DEEP_ROWS.has(row)),
  )
  return [
    ...missing(rows, expectedRows).map((row) => `row ${row}`),
    ...missing(outcomes, OUTCOMES),
    ...missing(faults, FAULTS),
    ...missing(sockets, SOCKET_EVENTS),
  ]
}

/** Section 5: the meanings of an answer to a send. */
const OUTCOMES = Object.entries({
  alreadyKnown: ['accepted'],
  nonceTooLow: ['refused'],
  nonceTooHigh: ['refused'],
  replacementUnderpriced: ['refused'],
  feeTooLow: ['refused'],
  insufficientFunds: ['refused'],
  gasLimit: ['refused'],
  poolFull: ['refused'],
  delegatedLimit: ['refused'],
  feeCapExceeded: ['refused'],
  rateLimited: ['refused'],
  notReady: ['refused'],
  syncTimeout: ['accepted'],
  invalid: ['intrinsic', 'refused'],
  screened: ['refused'],
  wrongChain: ['refused'],
  methodMissing: ['unknown'],
  // A hash alone gives no reason.
  unknown: ['accepted', 'unknown'],
} satisfies Record<SendReason, readonly string[]>).flatMap(([reason, outcomes]) =>
  outcomes.map((outcome) => `${outcome} ${reason}`),
)

/** Everything that endpoints announce, and every answer to a sync send. */
export const SOCKET_EVENTS = [...PUSH_EVENTS, ...SYNC_EVENTS] as const

export type SocketEvent = (typeof SOCKET_EVENTS)[number]

const DISTURBANCES: Record<Disturbance['kind'], true> = {
  reorg: true,
  evict: true,
  strand: true,
  wallStep: true,
  tipFloor: true,
  foreign: true,
  bump: true,
  spike: true,
  starve: true,
  halt: true,
  loseFlashblocks: true,
  pressure: true,
  wallet: true,
  delegate: true,
  creates: true,
  submit: true,
  freeze: true,
  crash: true,
  stop: true,
}

/** The names of the faults of ports, chain, signer and store, and of the other events of a world. */
const FAULTS = [
  ...Object.keys(WORST),
  ...Object.keys(WORST_STORE),
  ...Object.keys(DISTURBANCES),
  ...TIMED_STRIKES,
  ...POOL_OPTIONS,
  'fastBlocks',
  'timestampMs',
  'tag moving',
  'tag stuck',
  'tag null',
  'tag error',
  'lag',
  'lies',
  'stray',
  'broadcastAll',
  'private',
  'readerMoved',
  'neighbour',
  'authorize',
  'sequence',
  'dear',
  'dearest',
  'hurried',
  'forkShown',
  'pruned',
  'signerSlow',
  'after success preconfirmed',
  'after success sealed',
  'after any preconfirmed',
  'after any sealed',
  'signerFails',
]
