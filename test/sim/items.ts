import type { Random } from '../../src/clock.js'
import type { Program } from './program.js'
import { between, chance, pick } from './random.js'
import type { SubjectStage } from './subjectTypes.js'

/** What the caller does with a transaction after it was sent. */
export type Change = {
  readonly afterMs: number
  readonly action: 'cancel' | 'speedUp' | 'replace'
  /** Of the transaction that takes its place. */
  readonly marker: number
}

/** One thing that the caller wants to happen once. */
export type Item = {
  readonly marker: number
  readonly atMs: number
  readonly program: Program
  readonly gas: bigint | undefined
  readonly until: 'queued' | 'accepted'
  readonly expiresInMs: number | undefined
  readonly onExpiry: 'cancel' | 'leave'
  readonly abortAfterMs: number | undefined
  readonly stage: SubjectStage
  readonly changes: readonly Change[]
  /** Not sent by the lane: the caller reserves a nonce, and then does this with it. */
  readonly outside: Outside | undefined
  /** Data beyond what the node takes. */
  readonly oversized: boolean
  /** For endpoints that only send. */
  readonly private?: boolean
}

/**
 * `commit`: signs, commits, sends and settles. `silent`: signs and sends without a word. `release`: gives it back.
 * `forget`: is never heard of again.
 */
export type Outside = 'commit' | 'silent' | 'release' | 'forget'

export const GAS = 120_000n
// Less than the bytes cost, and more than a block may spend (EIP-7825).
const TOO_LITTLE_GAS = 21_000n
const TOO_MUCH_GAS = 20_000_000n

export function drawWorkload(
  random: Random,
  count: number,
  { spanMs, changes }: { spanMs: number; changes: boolean },
): Item[] {
  const burstMs = between(random, 0, Math.floor(spanMs / 2))
  const burst = pick(random, [0, 0.5, 1])
  let marker = 0
  const items: Item[] = []
  for (let index = 0; index < count; index++) {
    const own = ++marker
    const program = drawProgram(random, own, items)
    const outside = chance(random, 0.02)
      ? pick<Outside>(random, ['commit', 'commit', 'silent', 'release', 'forget'])
      : undefined
    items.push({
      marker: own,
      atMs: chance(random, burst) ? burstMs : between(random, 0, spanMs),
      program,
      gas: drawGas(random, program),
      outside,
      oversized: program.kind === 'call' && chance(random, 0.01),
      until: pick(random, ['queued', 'accepted']),
      expiresInMs: changes && chance(random, 0.1) ? between(random, 50, 5_000) : undefined,
      onExpiry: pick(random, ['cancel', 'leave']),
      abortAfterMs: changes && chance(random, 0.05) ? between(random, 0, 2_000) : undefined,
      stage: pick(random, ['preconfirmed', 'sealed', 'sealed']),
      changes: changes && chance(random, 0.4) ? drawChanges(random, () => ++marker) : [],
    })
  }
  return items
}

function drawGas(random: Random, { kind }: Program): bigint | undefined {
  if (kind === 'call' && chance(random, 0.03)) return pick(random, [TOO_LITTLE_GAS, TOO_MUCH_GAS])
  if (kind === 'revert') return GAS
  return kind !== 'dependent' && chance(random, 0.7) ? GAS : undefined
}

function drawProgram(random: Random, marker: number, earlier: readonly Item[]): Program {
  const kind = pick(random, [
    'transfer',
    'transfer',
    'call',
    'call',
    'revert',
    'create',
    'dependent',
  ] as const)
  const calls = earlier.filter(({ program }) => program.kind === 'call')
  if (kind === 'dependent') {
    return calls.length === 0 ? { kind: 'call', marker } : { kind, marker, needs: pick(random, calls).marker }
  }
  return { kind, marker }
}

function drawChanges(random: Random, nextMarker: () => number): Change[] {
  return Array.from({ length: between(random, 1, 2) }, () => ({
    afterMs: pick(random, [0, between(random, 1, 500), between(random, 500, 8_000)]),
    action: pick(random, ['cancel', 'speedUp', 'replace'] as const),
    marker: nextMarker(),
  }))
}
