import { type Hash, type Hex, keccak256, zeroAddress } from 'viem'
import type { Clock } from '../../src/clock.js'
import { idOf, markerOf, memberId } from './ids.js'
import { type Change, GAS, type Item, type Member } from './items.js'
import type { Telling } from './oracle.js'
import { signOutside } from './outside.js'
import { effectOf, oversized, programRequest, spoiled } from './program.js'
import type { Subject, SubjectOptions, SubjectRequest, SubjectStage, SubjectTx } from './subjectTypes.js'

const DELEGATE = `0x${'de'.repeat(20)}` as const

/** The reports to the caller, and its open promises. */
export type Journal = {
  readonly tellings: readonly Telling[]
  /** The markers of real requests: a replacement that was never requested is not among them. */
  readonly markers: ReadonlySet<number>
  /** Promises of the subject that have not settled, by name. */
  readonly open: ReadonlySet<string>
  /** Errors that are not typed: a caller cannot interpret them. */
  readonly untyped: readonly string[]
}

export type Workload = Journal & {
  start(item: Item): void
  /** The process is gone: its open promises never settle, and its planned actions are dropped. */
  crashed(): void
  /** Another process has begun: the caller repeats all requests with the same ids. */
  restarted(subject: Subject): void
  /** Queries at the end all transactions whose last report may have been taken back. */
  lastLook(): Promise<void>
}

export type WorkloadOptions = {
  readonly clock: Clock
  readonly chainId: number
  /** The first process. */
  readonly subject: Subject
  /** Sends bytes past the subject, as outside code does; resolves with the error if there was one. */
  readonly post: (raw: Hex) => Promise<Error | undefined>
}

const ASK_AGAIN_MS = 1_000
// Above the ceiling of a lane whose first estimate saw the usual base fee (1,000,000 wei).
const DEAR = { maxFeePerGas: 100_000_000n, maxPriorityFeePerGas: 1_000_000n }
// Above that as well.
const DEARER = { maxFeePerGas: 200_000_000n, maxPriorityFeePerGas: 3_000_000n }
const NOT_KNOWN = Symbol('not known')
/** The rejection of a call; without a code if the error was not one of the library. */
type Failed = { readonly fate: string; readonly code: string | undefined }

const NEVER = new Promise<never>(() => {})

/** The caller: sends, waits, changes its mind, and records all reports. */
export function createWorkload({ clock, chainId, subject, post }: WorkloadOptions): Workload {
  const tellings: Telling[] = []
  const markers = new Set<number>()
  const open = new Set<string>()
  const untyped: string[] = []
  const expiry = new Map<number, number>()
  // The work that the caller of the next process has to resume.
  const unfinished = new Map<number, () => Promise<void>>()
  const waiting: Item[] = []
  // Each member of a sequence has an id with its place.
  const places = new Map<number, string>()
  const ownId = (marker: number) => places.get(marker) ?? idOf(marker)
  // Transactions that the caller signed itself are identified by hash.
  const outside = new Map<number, Hash>()
  let life: { readonly subject: Subject } | undefined = { subject }

  function tell(marker: number, says: Telling['says'], how: string, final: boolean, hash?: Hash): void {
    tellings.push({ marker, atMs: clock.now(), says, how, final, hash })
  }

  /** Waits for a promise of the subject; a rejection is reported for `marker`. */
  async function asked<T>(
    marker: number,
    how: string,
    ask: (subject: Subject) => Promise<T>,
  ): Promise<T | Failed> {
    const mine = life
    if (mine === undefined) return NEVER
    const name = `${how} of ${marker}`
    open.add(name)
    try {
      const result = await ask(mine.subject)
      return mine === life ? result : NEVER
    } catch (error) {
      return mine === life ? rejected(marker, how, error) : NEVER
    } finally {
      if (mine === life) open.delete(name)
    }
  }

  function rejected(marker: number, how: string, error: unknown): Failed {
    const { fate, code, tx } = error as { fate?: Telling['says']; code?: string; tx?: { id: string } }
    if (fate === undefined || code === undefined) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      untyped.push(`${how} of ${marker}: ${text}`)
      return { fate: 'inFlight', code: undefined }
    }
    // The error of a sequence names the refused member, and its fate is that of the whole call.
    const isWhole = tx === undefined || how === 'sendSequence'
    const named = isWhole ? marker : (markerOf(tx.id) ?? marker)
    if (how !== 'speedUp') tell(named, fate, `${how} ${code}`, fate === 'notExecuted')
    if (named === marker) return { fate, code }
    // The error concerns the transaction that was to be replaced: the replacement was not admitted at all.
    tell(marker, 'notExecuted', `${how} ${code}`, true)
    return { fate: 'notExecuted', code }
  }

  /**
   * Transactions reported as sealed and no deeper: a reorg may have removed them, and another transaction
   * may have landed.
   */
  function unsure(): number[] {
    const sure = new Set(tellings.filter(({ final }) => final).map(({ marker }) => marker))
    return tellings
      .filter(({ says, marker }) => says === 'executed' && !sure.has(marker))
      .map(({ marker }) => marker)
  }

  const failed = (result: unknown): result is Failed =>
    typeof result === 'object' && result !== null && 'fate' in result

  /**
   * Sends as a careful caller does: searches for a transaction that may be in flight, and sends it again by
   * the same id if there is none.
   */
  async function send(
    marker: number,
    request: SubjectRequest,
    options: SubjectOptions,
  ): Promise<SubjectTx | undefined> {
    markers.add(marker)
    for (;;) {
      const sent = await asked(marker, 'send', (to) => to.send(request, options))
      if (!failed(sent)) return sent
      if (sent.fate !== 'inFlight') return undefined
      const found = await again(marker, options.id)
      if (found !== NOT_KNOWN) return found
      await pause(marker)
    }
  }

  /** A transaction that was given up in flight continues by itself: it is found again by its id. */
  async function again(
    marker: number,
    id: string | { readonly hash: Hash },
  ): Promise<SubjectTx | undefined | typeof NOT_KNOWN> {
    for (;;) {
      const found = await asked(marker, 'get', (from) => from.get(id))
      if (found === undefined) return NOT_KNOWN
      if (!failed(found)) return found
      if (found.fate !== 'inFlight') return undefined
      await pause(marker)
    }
  }

  /** A pause counts as an open promise, because the caller will continue. */
  function pause(marker: number): Promise<void> {
    const name = `the next try of ${marker}`
    open.add(name)
    return new Promise((resolve) =>
      later(ASK_AGAIN_MS, async () => {
        open.delete(name)
        resolve()
      }),
    )
  }

  async function follow(marker: number, tx: SubjectTx, stage: SubjectStage): Promise<void> {
    if (stage === 'preconfirmed') await asked(marker, 'wait preconfirmed', () => tx.wait('preconfirmed'))
    const landed = await asked(marker, 'wait sealed', () => tx.wait('sealed'))
    if (!failed(landed)) return tell(marker, 'executed', 'wait sealed', false, landed.hash)
    if (landed.fate !== 'inFlight') return
    // The outcome is unknown until an operator resolves it.
    await pause(marker)
    const found = await again(marker, tx.id)
    if (found !== NOT_KNOWN && found !== undefined) await follow(marker, found, 'sealed')
  }

  /** A planned change counts as open as well, so that the world does not end before it. */
  function changeLater(marker: number, tx: SubjectTx, each: Change): void {
    const name = `the ${each.action} of ${marker}, as ${each.marker}`
    open.add(name)
    later(each.afterMs, async () => {
      open.delete(name)
      await change(marker, tx, each)
    })
  }

  async function change(
    marker: number,
    tx: SubjectTx,
    { action, marker: next, dear }: Change,
  ): Promise<void> {
    if (action === 'speedUp') {
      await asked(marker, 'speedUp', () => tx.speedUp(dear && DEARER))
    } else if (action === 'cancel') {
      const cancelled = await asked(marker, 'cancel', () => tx.cancel())
      if (failed(cancelled)) return
      const late = cancelled.result === 'tooLate'
      tell(marker, late ? 'executed' : 'notExecuted', `cancel ${cancelled.result}`, true)
    } else {
      await replace(tx, next)
    }
  }

  async function replace(tx: SubjectTx, marker: number): Promise<void> {
    markers.add(marker)
    unfinished.set(marker, () => resumeReplacement(marker))
    const id = ownId(marker)
    const request = { ...programRequest({ kind: 'call', marker }), gas: GAS }
    const replaced = await asked(marker, 'replace', () => tx.replace(request, { id }))
    const found = !failed(replaced)
      ? replaced
      : replaced.fate === 'inFlight'
        ? await again(marker, id)
        : undefined
    if (found === NOT_KNOWN) tell(marker, 'notExecuted', 'get nothing', true)
    else if (found !== undefined) await follow(marker, found, 'sealed')
    unfinished.delete(marker)
  }

  /**
   * The transaction to be replaced is no longer known. Unless the replacement was admitted, it must never
   * happen.
   */
  async function resumeReplacement(marker: number): Promise<void> {
    await lookUp(marker, 'sealed')
    unfinished.delete(marker)
  }

  /** Follows the stored transaction of the marker's own id. If there is none, it must never happen. */
  async function lookUp(marker: number, stage: SubjectStage): Promise<void> {
    const found = await again(marker, ownId(marker))
    if (found === NOT_KNOWN) tell(marker, 'notExecuted', 'get nothing', true)
    else if (found !== undefined) await follow(marker, found, stage)
  }

  async function run(item: Item, first: boolean): Promise<void> {
    const { marker, until, expiresInMs, onExpiry, abortAfterMs, stage, changes } = item
    unfinished.set(marker, () => run(item, false))
    if (expiresInMs !== undefined && first) expiry.set(marker, clock.wallNow() + expiresInMs)
    const atMs = expiry.get(marker)
    const { request, ...own } = asSent(item)
    const tx = await send(marker, request, {
      ...own,
      until,
      ...(atMs === undefined ? {} : { expires: { atMs }, onExpiry }),
      ...(abortAfterMs === undefined || !first ? {} : { signal: abortAfter(abortAfterMs) }),
    })
    if (tx !== undefined) {
      if (first) for (const each of changes) changeLater(marker, tx, each)
      await follow(marker, tx, stage)
    }
    unfinished.delete(marker)
  }

  /**
   * A sequence is admitted as a whole in the end: unless it is known to be, it is sent again by the same id.
   */
  async function runSequence(item: Item, rest: readonly Member[]): Promise<void> {
    const { marker, until, stage } = item
    const all = [item, ...rest].map((one) => one.marker)
    all.forEach((one, index) => {
      markers.add(one)
      places.set(one, memberId(marker, index))
    })
    unfinished.set(marker, () => runSequence(item, rest))
    const { request, id, ...own } = asSent(item)
    const requests = [request, ...rest.map((one) => requestOf(one))]
    for (;;) {
      const sent = await asked(marker, 'sendSequence', (to) =>
        to.sendSequence(requests, { ...own, id, until }),
      )
      if (!failed(sent)) {
        await Promise.all(sent.map((tx, index) => follow(all[index] as number, tx, stage)))
        break
      }
      if (sent.fate !== 'inFlight') {
        for (const one of all) tell(one, 'notExecuted', 'sendSequence', true)
        break
      }
      if (sent.code === 'ENDED') {
        await Promise.all(all.map((one) => lookUp(one, stage)))
        break
      }
      await pause(marker)
    }
    unfinished.delete(marker)
  }

  function abortAfter(afterMs: number): AbortSignal {
    const controller = new AbortController()
    later(afterMs, async () => controller.abort())
    return controller.signal
  }

  function later(afterMs: number, act: () => Promise<void>): void {
    const mine = life
    clock.setTimer(() => {
      if (mine === life) void act()
    }, afterMs)
  }

  /** Sends bytes past the lane, with a reserved nonce. */
  async function runOutside({ marker, program, outside: how }: Item): Promise<void> {
    const reservation = await asked(marker, 'reserve', (from) => from.reserve())
    // A reservation without a commit ends with its process.
    if (failed(reservation)) return
    if (how === 'forget') return
    if (how === 'release') return void (await asked(marker, 'release', () => reservation.release()))
    const serializedTransaction = await signOutside({ chainId, nonce: reservation.nonce, program })
    if (how === 'silent') return void (await post(serializedTransaction))
    markers.add(marker)
    const hash = keccak256(serializedTransaction)
    outside.set(marker, hash)
    unfinished.set(marker, () => followOutside(marker, hash))
    const committed = await asked(marker, 'commit', () => reservation.commit({ serializedTransaction }))
    if (!failed(committed)) {
      const error = await post(serializedTransaction)
      await asked(marker, 'settle', () => reservation.settle(error))
    }
    await followOutside(marker, hash)
  }

  /** Bytes that the lane does not have were not sent either, so they can never land. */
  async function followOutside(marker: number, hash: Hash): Promise<void> {
    const found = await again(marker, { hash })
    if (found === NOT_KNOWN) tell(marker, 'notExecuted', 'get nothing', true)
    else if (found !== undefined) await follow(marker, found, 'sealed')
    unfinished.delete(marker)
  }

  function begin(item: Item): void {
    if (item.outside !== undefined) void runOutside(item)
    else if (item.sequence !== undefined) void runSequence(item, item.sequence)
    else void run(item, true)
  }

  return {
    tellings,
    markers,
    open,
    untyped,
    start(item) {
      clock.setTimer(() => {
        if (life === undefined) waiting.push(item)
        else begin(item)
      }, item.atMs)
    },
    crashed() {
      life = undefined
      open.clear()
    },
    restarted(next) {
      life = { subject: next }
      for (const resume of [...unfinished.values()]) void resume()
      for (const item of waiting.splice(0)) begin(item)
    },
    async lastLook() {
      for (const marker of new Set(unsure())) {
        const by = outside.has(marker) ? { hash: outside.get(marker) as Hash } : ownId(marker)
        const found = await asked(marker, 'get', (from) => from.get(by))
        if (found !== undefined && !failed(found)) await follow(marker, found, 'sealed')
      }
    },
  }
}

/** The request and options of an item, the same for every process that sends it. */
export function asSent(item: Item) {
  const { marker, after, tellsEffect } = item
  const options = {
    ...(after && { after: after.markers.map(idOf), afterStatus: after.status, afterStage: after.stage }),
    ...(tellsEffect && { effect: effectOf(marker) }),
    ...(item.private && { private: true }),
    ...(item.offers === 'dearest' && { feeCeiling: DEAR.maxFeePerGas }),
  }
  return { request: requestOf(item), id: idOf(marker), ...options }
}

function requestOf({
  program,
  gas,
  oversized: tooBig,
  authorize,
  offers,
}: Member & Partial<Pick<Item, 'oversized' | 'authorize' | 'offers'>>): SubjectRequest {
  const data = programRequest(program)
  return {
    ...(tooBig ? (program.marker % 2 === 0 ? spoiled : oversized)(data) : data),
    ...(gas === undefined ? {} : { gas }),
    ...(offers === undefined ? {} : DEAR),
    ...(authorize === undefined
      ? {}
      : {
          authorize: authorize.map((what) => ({ contractAddress: what === 'set' ? DELEGATE : zeroAddress })),
        }),
  }
}
