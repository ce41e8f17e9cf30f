import type { Clock, Random } from '../../src/clock.js'
import type { Telling } from './oracle.js'
import { type Program, programRequest } from './program.js'
import { between, chance, pick } from './random.js'
import type { Subject, SubjectOptions, SubjectRequest, SubjectStage, SubjectTx } from './subjectTypes.js'

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
}

const GAS = 120_000n
const ID_PREFIX = 'transaction-'

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
    items.push({
      marker: own,
      atMs: chance(random, burst) ? burstMs : between(random, 0, spanMs),
      program,
      gas:
        program.kind === 'revert' || (program.kind !== 'dependent' && chance(random, 0.7)) ? GAS : undefined,
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

/** Everything that the caller was told, and what it still waits for. */
export type Journal = {
  readonly tellings: readonly Telling[]
  /** Of what was asked for in fact: a replacement that was never made has none. */
  readonly markers: readonly number[]
  /** Promises of the subject that have not settled, by what they are. */
  readonly open: ReadonlySet<string>
  /** Errors that are no typed errors: a caller cannot know what they mean. */
  readonly untyped: readonly string[]
}

export type Workload = Journal & {
  start(item: Item): void
  /** Asks once more, when all is done, about those of which the last word may have been taken back. */
  lastLook(): Promise<void>
}

/** Plays the caller: sends, waits, changes its mind, and writes down what it is told. */
export function createWorkload(subject: Subject, clock: Clock): Workload {
  const tellings: Telling[] = []
  const markers: number[] = []
  const open = new Set<string>()
  const untyped: string[] = []

  function tell(
    marker: number,
    says: Telling['says'],
    how: string,
    final: boolean,
    hash?: Telling['hash'],
  ): void {
    tellings.push({ marker, atMs: clock.now(), says, how, final, hash })
  }

  /** Waits for a promise of the subject; what it rejects with is told of `marker`. */
  async function asked<T>(
    marker: number,
    how: string,
    promise: Promise<T>,
  ): Promise<T | { readonly fate: string }> {
    const name = `${how} of ${marker}`
    open.add(name)
    try {
      return await promise
    } catch (error) {
      const { fate, code, tx } = error as { fate?: Telling['says']; code?: string; tx?: { id: string } }
      if (fate === undefined || code === undefined) {
        untyped.push(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
        return { fate: 'inFlight' }
      }
      const named = tx === undefined ? marker : markerOf(tx.id)
      if (how !== 'speedUp') tell(named, fate, `${how} ${code}`, fate === 'notExecuted')
      if (named === marker) return { fate }
      // It speaks of the transaction that was to be replaced: the replacement was not taken on at all.
      tell(marker, 'notExecuted', `${how} ${code}`, true)
      return { fate: 'notExecuted' }
    } finally {
      open.delete(name)
    }
  }

  /** Told as sealed and no deeper: a reorg may have taken that back, and then something else may have landed there. */
  function unsure(): number[] {
    const sure = new Set(tellings.filter(({ final }) => final).map(({ marker }) => marker))
    return tellings
      .filter(({ says, marker }) => says === 'executed' && !sure.has(marker))
      .map(({ marker }) => marker)
  }

  const failed = (result: unknown): result is { readonly fate: string } =>
    typeof result === 'object' && result !== null && 'fate' in result

  async function send(
    marker: number,
    request: SubjectRequest,
    options: SubjectOptions,
  ): Promise<SubjectTx | undefined> {
    markers.push(marker)
    const sent = await asked(marker, 'send', subject.send(request, options))
    return failed(sent) ? again(marker, sent.fate, options.id) : sent
  }

  /** What was given up on while it was under way goes on by itself: it is found again by its id. */
  async function again(marker: number, fate: string, id: string): Promise<SubjectTx | undefined> {
    if (fate !== 'inFlight') return undefined
    const found = await asked(marker, 'get', subject.get(id))
    return found === undefined || failed(found) ? undefined : found
  }

  async function follow(marker: number, tx: SubjectTx, stage: SubjectStage): Promise<void> {
    if (stage === 'preconfirmed') await asked(marker, 'wait preconfirmed', tx.wait('preconfirmed'))
    const landed = await asked(marker, 'wait sealed', tx.wait('sealed'))
    if (!failed(landed)) tell(marker, 'executed', 'wait sealed', false, landed.hash)
  }

  async function change(marker: number, tx: SubjectTx, { action, marker: next }: Change): Promise<void> {
    if (action === 'speedUp') {
      await asked(marker, 'speedUp', tx.speedUp())
    } else if (action === 'cancel') {
      const cancelled = await asked(marker, 'cancel', tx.cancel())
      if (failed(cancelled)) return
      const late = cancelled.result === 'tooLate'
      tell(marker, late ? 'executed' : 'notExecuted', `cancel ${cancelled.result}`, true)
    } else {
      await replace(tx, next)
    }
  }

  async function replace(tx: SubjectTx, marker: number): Promise<void> {
    markers.push(marker)
    const id = idOf(marker)
    const request = { ...programRequest({ kind: 'call', marker }), gas: GAS }
    const replaced = await asked(marker, 'replace', tx.replace(request, { id }))
    const found = failed(replaced) ? await again(marker, replaced.fate, id) : replaced
    if (found !== undefined) await follow(marker, found, 'sealed')
  }

  async function run(item: Item): Promise<void> {
    const { marker, program, gas, until, expiresInMs, onExpiry, abortAfterMs, stage, changes } = item
    const controller = abortAfterMs === undefined ? undefined : new AbortController()
    if (controller !== undefined) clock.setTimer(() => controller.abort(), abortAfterMs ?? 0)
    const request = { ...programRequest(program), ...(gas === undefined ? {} : { gas }) }
    const tx = await send(marker, request, {
      id: idOf(marker),
      until,
      ...(expiresInMs === undefined ? {} : { expires: { atMs: clock.now() + expiresInMs }, onExpiry }),
      ...(controller === undefined ? {} : { signal: controller.signal }),
    })
    if (tx === undefined) return
    for (const each of changes) clock.setTimer(() => void change(marker, tx, each), each.afterMs)
    await follow(marker, tx, stage)
  }

  return {
    tellings,
    markers,
    open,
    untyped,
    start(item) {
      clock.setTimer(() => void run(item), item.atMs)
    },
    async lastLook() {
      for (const marker of new Set(unsure())) {
        const found = await asked(marker, 'get', subject.get(idOf(marker)))
        if (found !== undefined && !failed(found)) await follow(marker, found, 'sealed')
      }
    },
  }
}

function markerOf(id: string): number {
  return Number(id.slice(ID_PREFIX.length))
}

function idOf(marker: number): string {
  return `${ID_PREFIX}${marker}`
}
