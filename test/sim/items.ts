import type { Random } from '../../src/platform/clock.js'
import { memberMarker } from './ids.js'
import type { Program } from './program.js'
import { between, chance, pick } from './random.js'
import type { SubjectStage } from './subjectTypes.js'

/** A change that the caller requests after sending. */
export type Change = {
  readonly afterMs: number
  readonly action: 'cancel' | 'speedUp' | 'replace'
  /** The marker of the replacement. */
  readonly marker: number
  /** A `speedUp` with fees above the lane's ceiling. */
  readonly dear?: true
}

/** A transaction that the caller wants once. */
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
  /** Not sent by the lane: the caller reserves a nonce, and then uses it in this way. */
  readonly outside: Outside | undefined
  /** Its predecessors, by their markers. */
  readonly after: After | undefined
  /** True if it declares its effect, so that dependents can check for it. */
  readonly declaresEffect: boolean
  /** Data that exceeds the node's limit, or spoils the signature: no node accepts it. */
  readonly oversized: boolean
  /**
   * Fees of its own above the lane's ceiling; `dearest` also has a ceiling of its own, which leaves no room
   * for a bump.
   */
  readonly offers?: 'dear' | 'dearest' | undefined
  /** Its caller waits for the receipt for this long, as `sendTransactionSync` does. */
  readonly receiptWithinMs?: number
  /** Only for endpoints with the role `send`. */
  readonly private?: boolean
  /** The transactions that follow it in a sequence, sent in one call. */
  readonly sequence?: readonly Member[] | undefined
  /** Delegations of the lane's own account that it carries (EIP-7702): to some code, or to none. */
  readonly authorize?: readonly ('set' | 'clear')[] | undefined
}

export type Member = Pick<Item, 'marker' | 'program' | 'gas'>

export type After = {
  readonly markers: readonly number[]
  readonly status: 'success' | 'any'
  readonly stage: 'preconfirmed' | 'sealed'
}

/**
 * `commit`: signs, commits, sends and settles. `silent`: signs and sends without commit. `release`: releases
 * it.
 * `forget`: never reports back.
 */
export type Outside = 'commit' | 'silent' | 'release' | 'forget'

export const GAS = 120_000n
// Less gas than the bytes cost, and more than a transaction may have (EIP-7825).
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
      after: undefined,
      declaresEffect: false,
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

/** Adds predecessors to some of the items. The fates of the predecessors are already drawn. */
export function withDependents(random: Random, items: readonly Item[]): Item[] {
  const given: Item[] = []
  for (const item of items) {
    const candidates = given.filter(({ outside, oversized }) => outside === undefined && !oversized)
    if (item.outside !== undefined || candidates.length === 0 || !chance(random, 0.2)) {
      given.push({ ...item, declaresEffect: item.program.kind === 'call' && chance(random, 0.3) })
      continue
    }
    const others = [pick(random, candidates), ...(chance(random, 0.2) ? [pick(random, candidates)] : [])]
    given.push({
      ...item,
      // A transaction can be named as a predecessor only after it was sent.
      atMs: Math.max(item.atMs, ...others.map(({ atMs }) => atMs + pick(random, [1, 100, 2_000]))),
      after: {
        markers: others.map(({ marker }) => marker),
        status: chance(random, 0.8) ? 'success' : 'any',
        stage: chance(random, 0.7) ? 'preconfirmed' : 'sealed',
      },
    })
  }
  return given
}

/**
 * Some items carry authorizations, in some worlds. Drawn separately, so that everything else stays the same
 * for a seed.
 */
export function drawAuthorizations(random: Random, items: readonly Item[]): Item[] {
  const share = chance(random, 0.2) ? pick(random, [0.05, 0.3]) : 0
  return items.map((item) => {
    const { program, outside, oversized } = item
    const may = program.kind !== 'create' && outside === undefined && !oversized
    if (!may || !chance(random, share)) return item
    const authorize = Array.from({ length: between(random, 1, 2) }, () =>
      pick(random, ['set', 'clear'] as const),
    )
    return { ...item, authorize }
  })
}

/** Some items name their fees, at once or when they are sped up. Drawn separately as well. */
export function drawOffers(random: Random, items: readonly Item[]): Item[] {
  if (!chance(random, 0.2)) return [...items]
  return items.map((item) => {
    if (item.outside !== undefined || !chance(random, 0.5)) return { ...item, changes: hurried(random, item) }
    return { ...item, offers: pick(random, ['dear', 'dear', 'dearest']), changes: hurried(random, item) }
  })
}

function hurried(random: Random, { changes }: Item): readonly Change[] {
  return changes.map((change) =>
    change.action === 'speedUp' && chance(random, 0.5) ? { ...change, dear: true } : change,
  )
}

/** Some items begin a sequence. Drawn separately as well. */
export function drawSequences(random: Random, items: readonly Item[]): Item[] {
  if (!chance(random, 0.2)) return [...items]
  // Other items refer to it by the id that it has outside a sequence.
  const named = new Set(items.flatMap(({ after }) => after?.markers ?? []))
  return items.map((item) => {
    const { marker, outside, oversized, authorize } = item
    const may = outside === undefined && !oversized && !authorize && !named.has(marker)
    if (!may || !chance(random, 0.3)) return item
    const members: Member[] = []
    for (let index = 1; index <= between(random, 1, 3); index++) {
      const own = memberMarker(marker, index)
      const kind = pick(random, ['transfer', 'call', 'revert', 'dependent'] as const)
      const calls = [item, ...members].filter(({ program }) => program.kind === 'call')
      const needs = calls.length === 0 ? undefined : pick(random, calls).marker
      const program: Program =
        kind === 'dependent'
          ? needs === undefined
            ? { kind: 'call', marker: own }
            : { kind, marker: own, needs }
          : { kind, marker: own }
      members.push({
        marker: own,
        program,
        gas: program.kind === 'revert' || chance(random, 0.6) ? GAS : undefined,
      })
    }
    const alone = { changes: [], declaresEffect: false, expiresInMs: undefined, abortAfterMs: undefined }
    return { ...item, ...alone, sequence: members }
  })
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
