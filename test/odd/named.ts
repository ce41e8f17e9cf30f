import type { How, Target } from '../sim/port/timedFault.js'
import type { Fault } from './faults.js'
import { type Plan, payment } from './plan.js'

const COUNTS = ['countLatest', 'countPending', 'countAtNumber', 'countAtHash'] as const
const SEALED_COUNTS = ['countAtNumber', 'countAtHash'] as const
const BLOCKS = ['latestHeader', 'headerByNumber', 'bodyByNumber', 'blockByHash'] as const
const RECEIPTS = ['receipt', 'blockReceipts'] as const

const off = (by: number): How => ({ kind: 'off', by })

/** One endpoint that errs in one way: the questions, the wrong answer, its start and its duration. */
function errs(targets: readonly Target[], how: How, fromMs: number, forMs: number): Fault[] {
  return targets.map((target) => ({ target, how, fromMs, forMs, endpoint: 0 }))
}

/** Twenty payments within ten seconds, on a chain with a block every two seconds. */
function worldOf(faults: readonly Fault[], change: Partial<Plan> = {}): Plan {
  return {
    seed: 1,
    chain: 'rollup',
    endpoints: 1,
    faults,
    items: Array.from({ length: 20 }, (_, index) => payment(index + 1, 500 * index)),
    nonce: 700,
    steps: [],
    restart: undefined,
    foreign: [],
    rewind: undefined,
    readyFirst: true,
    ...change,
  }
}

const AT_START = {
  readyFirst: false,
  items: Array.from({ length: 12 }, (_, index) => payment(index + 1, 100)),
}

const SLOW_START = {
  readyFirst: false,
  items: Array.from({ length: 3 }, (_, index) => payment(index + 1, 100 + 15_000 * index)),
}

const RESTART = { atMs: 3_000, downMs: 10 }
const RESTART_LATE = { atMs: 5_000, downMs: 3_000 }

/** Answers of an endpoint that does not show block 0. */
const NO_BLOCK_0: Readonly<Record<string, How>> = {
  null: { kind: 'null' },
  'pruned history unavailable': { kind: 'refused', code: 4444, message: 'pruned history unavailable' },
  'missing trie node': {
    kind: 'refused',
    code: -32000,
    message: 'missing trie node b10c (path ) state is not available',
  },
}

/** A count that shows no loss at any block, and a pool that drops transactions when it is full. */
export const UNSEEN_DROPS: Readonly<Record<string, Plan>> = Object.fromEntries(
  (['latest', 'pending'] as const).map((shows) => [
    `the count ignores the requested block and is always the ${shows} one, and the pool drops all but eight`,
    worldOf(errs(SEALED_COUNTS, { kind: 'blockIgnored', shows }, 0, 60_000), {
      chain: 'smallPool',
      items: Array.from({ length: 20 }, (_, index) => payment(index + 1, 100)),
    }),
  ]),
)

/** Measured cases, one common accident each. */
export const NAMED = {
  'every count is 5 too high for 8 s': worldOf(errs(COUNTS, off(5), 3_000, 8_000)),
  'the latest count alone is 5 too high for 8 s': worldOf(errs(['countLatest'], off(5), 3_000, 8_000)),
  // From the start, so that no body shows the transactions that used the nonces below.
  ...Object.fromEntries(
    [3, 600, 1_000_000_001].map((by) => [
      `the latest count is ${by} too low for the first 25 s`,
      worldOf(errs(['countLatest'], off(-by), 0, 25_000), SLOW_START),
    ]),
  ),
  'two endpoints whose pools drop all but eight transactions': worldOf([], {
    chain: 'smallPool',
    endpoints: 2,
    items: Array.from({ length: 40 }, (_, index) => payment(index + 1, 100)),
  }),
  'the latest count is 3 too low for the first minute': worldOf(
    errs(['countLatest'], off(-3), 0, 60_000),
    SLOW_START,
  ),
  'the latest count is 1,000,000,001 too low while a process starts again': worldOf(
    errs(['countLatest'], off(-1_000_000_001), 2_000, 12_000),
    { restart: RESTART },
  ),
  'the latest count is 1,000,000,001 too high while a process starts again': worldOf(
    errs(['countLatest'], off(1_000_000_001), 2_000, 25_000),
    { restart: RESTART },
  ),
  // Two backends behind one URL: blocks come from one that is two blocks behind the one that counts.
  'the count at block N is that of N + 2 for 10 s': worldOf([
    ...errs(SEALED_COUNTS, { kind: 'twoLater' }, 2_000, 10_000),
    ...errs(['latestHeader'], { kind: 'stale', blocks: 2 }, 2_000, 10_000),
  ]),
  'the count ignores the requested block, for 15 s': worldOf([
    ...errs(SEALED_COUNTS, { kind: 'blockIgnored', shows: 'latest' }, 0, 15_000),
    ...errs(['latestHeader'], { kind: 'stale', blocks: 2 }, 0, 15_000),
  ]),
  'every count ignores the requested block and is always the pending one, for 15 s': worldOf(
    errs(['countLatest', ...SEALED_COUNTS], { kind: 'blockIgnored', shows: 'pending' }, 0, 15_000),
  ),
  ...UNSEEN_DROPS,
  'every count is 3 too high for 4 s': worldOf(errs(COUNTS, off(3), 3_000, 4_000)),
  'one of two endpoints counts 100 too many for 20 s': worldOf(errs(COUNTS, off(100), 3_000, 20_000), {
    endpoints: 2,
  }),
  'one of two endpoints counts 3 too many while a process starts again': worldOf(
    errs(['countLatest', 'countPending'], off(3), 2_000, 20_000),
    { endpoints: 2, restart: RESTART },
  ),
  'every count is 100 too high for 4 s': worldOf(errs(COUNTS, off(100), 3_000, 4_000)),
  'the pending count is 100 too high for the first 15 s': worldOf(
    errs(['countPending'], off(100), 0, 15_000),
    AT_START,
  ),
  'the pending count is 1,000,000 too high for the first 15 s': worldOf(
    errs(['countPending'], off(1_000_000), 0, 15_000),
    AT_START,
  ),
  'the pending count is 1,000,000,001 too high for the first 15 s': worldOf(
    errs(['countPending'], off(1_000_000_001), 0, 15_000),
    AT_START,
  ),
  'blocks come without their transactions for 5 s': worldOf(
    errs(BLOCKS, { kind: 'emptyBody' }, 3_000, 5_000),
  ),
  'blocks come without some of their transactions for 5 s': worldOf(
    errs(BLOCKS, { kind: 'lackingBody' }, 3_000, 5_000),
  ),
  'the first latest block is 50 too high': worldOf(errs(['latestHeader'], off(50), 0, 150), {
    readyFirst: false,
  }),
  'the first latest block is 1,000,000 too high, and the pool drops the answered transactions': worldOf(
    errs(['latestHeader'], off(1_000_000), 0, 3_500),
    { ...AT_START, chain: 'smallPool' },
  ),
  'receipts are null for 20 s': worldOf(errs(RECEIPTS, { kind: 'null' }, 2_000, 20_000)),
  'receipts are an error for 20 s': worldOf(
    errs(
      RECEIPTS,
      { kind: 'refused', code: -32000, message: 'transaction indexing is in progress' },
      2_000,
      20_000,
    ),
  ),
  'receipts are refused with HTTP 429 for 20 s': worldOf(
    errs(RECEIPTS, { kind: 'tooMany', retryAfterS: undefined }, 2_000, 20_000),
  ),
  'the latest count is 1,000,000 too high while a process starts, and starts again': worldOf(
    errs(['countLatest'], off(1_000_000), 0, 20_000),
    { ...AT_START, restart: { atMs: 12_000, downMs: 10 } },
  ),
  'the pending count is 3 too high for 28 s while a process starts again': worldOf(
    errs(['countPending'], off(3), 3_500, 28_000),
    { restart: RESTART_LATE },
  ),
  'estimates are above the limit of a block while a process starts again': worldOf(
    errs(['estimate'], off(1_000_000_000), 0, 20_000),
    { ...AT_START, restart: { atMs: 12_000, downMs: 10 } },
  ),
  'another wallet takes a nonce on a chain without empty blocks': worldOf([], {
    chain: 'hardhat',
    items: [payment(1, 0), payment(2, 4_000, { changes: [{ action: 'cancel', afterMs: 0, marker: 1_002 }] })],
    foreign: [3_900],
  }),
  'a node that makes blocks on demand refuses every send for 18 s': worldOf(
    errs(['send'], { kind: 'refused', code: -32603, message: 'internal error' }, 0, 18_000),
    { chain: 'hardhat', items: Array.from({ length: 12 }, (_, index) => payment(index + 1, 100)) },
  ),
  ...Object.fromEntries(
    Object.entries(NO_BLOCK_0).map(([said, how]) => [
      `block 0 is not shown (${said}) while a process starts again`,
      worldOf(errs(['headerByNumber'], how, 0, 8_000), { readyFirst: false, restart: RESTART }),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(NO_BLOCK_0).map(([said, how]) => [
      `block 0 is not shown (${said}) from 2 s on, while a process starts again`,
      worldOf(errs(['headerByNumber'], how, 2_000, 8_000), { readyFirst: false, restart: RESTART }),
    ]),
  ),
} satisfies Record<string, Plan>

const BURST = Array.from({ length: 20 }, (_, index) => payment(index + 1, 0))

/** The chain goes back after the burst has landed: deeper than the proof of an end, and less deep. */
export const REWOUND = {
  'a chain that was reset to before the burst': worldOf([], {
    items: BURST,
    rewind: { atMs: 15_000, blocks: 9 },
  }),
  'a node that was killed and comes back nine blocks earlier': worldOf([], {
    chain: 'deep',
    items: BURST,
    rewind: { atMs: 18_000, blocks: 9 },
  }),
} as const satisfies Record<string, Plan>
