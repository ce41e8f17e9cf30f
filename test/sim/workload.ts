import { type Hash, type Hex, keccak256, zeroAddress } from 'viem'
import type { Clock } from '../../src/platform/clock.js'
import { idOf, markerOf, memberId } from './ids.js'
import { type Change, GAS, type Item, type Member } from './items.js'
import type { Telling } from './oracle.js'
import { signOutside } from './outside.js'
import { effectOf, oversized, programRequest, spoiled } from './program.js'
import type { Subject, SubjectOptions, SubjectRequest, SubjectStage, SubjectTx } from './subjectTypes.js'

const DELEGATE = `0x${'de'.repeat(20)}` as const

/** Everything that the caller was told, and what it still waits for. */
export type Journal = {
  readonly tellings: readonly Telling[]
  /** Of what was asked for in fact: a replacement that was never made has none. */
  readonly markers: ReadonlySet<number>
  /** Promises of the subject that have not settled, by what they are. */
  readonly open: ReadonlySet<string>
  /** Errors that are no typed errors: a caller cannot know what they mean. */
  readonly untyped: readonly string[]
}

export type Workload = Journal & {
  start(item: Item): void
  /** The process is gone: nothing that it waited for comes, and what it meant to do next is forgotten. */
  crashed(): void
  /** Another process has begun: it asks for everything again, by the same ids. */
  restarted(subject: Subject): void
  /** Asks once more, when all is done, about those of which the last word may have been taken back. */
  lastLook(): Promise<void>
}

export type WorkloadOptions = {
  readonly clock: Clock
  readonly chainId: number
  /** The first process. */
  readonly subject: Subject
  /** Sends bytes past the subject, as outside code does; with the error where there was one. */
  readonly post: (raw: Hex) => Promise<Error | undefined>
}

const ASK_AGAIN_MS = 1_000
// Above the ceiling of a lane whose first estimate was of a usual base fee (1,000,000 wei).
const DEAR = { maxFeePerGas: 100_000_000n, maxPriorityFeePerGas: 1_000_000n }
// And above that.
const DEARER = { maxFeePerGas: 200_000_000n, maxPriorityFeePerGas: 3_000_000n }
const NOT_KNOWN = Symbol('not known')
/** What a call rejected with; without a code where the error was none of the library's. */
type Failed = { readonly fate: string; readonly code: string | undefined }

const NEVER = new Promise<never>(() => {})

/** Plays the caller: sends, waits, changes its mind, and writes down what it is told. */
export function createWorkload({ clock, chainId, subject, post }: WorkloadOptions): Workload {
  const tellings: Telling[] = []
  const markers = new Set<number>()
  const open = new Set<string>()
  const untyped: string[] = []
  const expiry = new Map<number, number>()
  // What the caller of the next process has to take up again.
  const unfinished = new Map<number, () => Promise<void>>()
  const waiting: Item[] = []
  // Of what is sent as a sequence, each has an id that says its place.
  const places = new Map<number, string>()
  const ownId = (marker: number) => places.get(marker) ?? idOf(marker)
  // What the caller signed itself it knows by its hash.
  const outside = new Map<number, Hash>()
  let life: { readonly subject: Subject } | undefined = { subject }

  function tell(marker: number, says: Telling['says'], how: string, final: boolean, hash?: Hash): void {
    tellings.push({ marker, atMs: clock.now(), says, how, final, hash })
  }

  /** Waits for a promise of the subject; what it rejects with is told of `marker`. */
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
    // Of a sequence the error names the member that was refused, and its fate is that of the whole call.
    const isWhole = tx === undefined || how === 'sendSequence'
    const named = isWhole ? marker : (markerOf(tx.id) ?? marker)
    if (how !== 'speedUp') tell(named, fate, `${how} ${code}`, fate === 'notExecuted')
    if (named === marker) return { fate, code }
    // It speaks of the transaction that was to be replaced: the replacement was not taken on at all.
    tell(marker, 'notExecuted', `${how} ${code}`, true)
    return { fate: 'notExecuted', code }
  }

  /** Told as sealed and no deeper: a reorg may have taken that back, and then something else may have landed there. */
  function unsure(): number[] {
    const sure = new Set(tellings.filter(({ final }) => final).map(({ marker }) => marker))
    return tellings
      .filter(({ says, marker }) => says === 'executed' && !sure.has(marker))
      .map(({ marker }) => marker)
  }

  const failed = (result: unknown): result is Failed =>
    typeof result === 'object' && result !== null && 'fate' in result

  /** As a careful caller does: what may be under way is looked for, and sent again by the same id where it is not. */
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

  /** What was given up on while it was under way goes on by itself: it is found again by its id. */
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

  /** Part of what the caller waits for: it goes on. */
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
    // Nobody can tell, until an operator says so.
    await pause(marker)
    const found = await again(marker, tx.id)
    if (found !== NOT_KNOWN && found !== undefined) await follow(marker, found, 'sealed')
  }

  /** What the caller means to do is open as well: the world does not end before it. */
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

  /** Nobody knows any more what it was to replace. Unless it was taken on, it must never happen. */
  async function resumeReplacement(marker: number): Promise<void> {
    await lookUp(marker, 'sealed')
    unfinished.delete(marker)
  }

  /** Follows what the store has under the id of its own. It must never happen where there is nothing. */
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

  /** Taken on as a whole, in the end: what is not known to be is sent again by the same id. */
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

  /** What goes out past the lane, under a nonce of its own. */
  async function runOutside({ marker, program, outside: how }: Item): Promise<void> {
    const reservation = await asked(marker, 'reserve', (from) => from.reserve())
    // What was reserved and not committed is nobody's when the process dies.
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

  /** Bytes that the lane does not have were not sent either, so that they can never land. */
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

/** What is sent for an item, by whoever sends it. */
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
