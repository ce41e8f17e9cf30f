import type { Sender, Tx, TxRequest } from '../../src/types/index.js'
import type { CallerReport } from '../sim/oracle.js'
import { programRequest } from '../sim/program.js'
import type { VirtualClock } from '../sim/virtualClock.js'

/** A caller of a sender: sends, waits, and records every answer. */
export type Caller = {
  readonly reports: readonly CallerReport[]
  readonly markers: readonly number[]
  /** Promises that have not settled, by name. */
  readonly open: ReadonlySet<string>
  /** Errors that no caller can interpret. */
  readonly faults: readonly string[]
  /** Sends the transaction of this marker, and waits until it is sealed. */
  send(marker: number, options?: SendPlan): Promise<void>
  abort(marker: number): void
  cancel(marker: number): Promise<void>
  replace(marker: number, next: number): Promise<void>
  speedUp(marker: number): Promise<void>
  /** Makes a request that concerns no transaction. */
  ask(what: string, work: (sender: Sender) => Promise<unknown>): Promise<void>
  /** Queries every transaction whose last answer was not a verdict. */
  lastLook(sender: Sender): Promise<void>
}

export type SendPlan = {
  readonly until?: 'queued' | 'accepted'
  readonly expiresInMs?: number | undefined
  readonly onExpiry?: 'cancel' | 'leave'
}

const GAS = 120_000n
const idOf = (marker: number) => `transaction-${marker}`
const markerOf = (id: string) => Number(id.slice('transaction-'.length))

export function requestOf(marker: number): TxRequest {
  return { ...programRequest({ kind: 'transfer', marker }), gas: GAS } as TxRequest
}

export function createCaller(sender: Sender, clock: VirtualClock): Caller {
  const markers = new Set<number>()
  const controllers = new Map<number, AbortController>()
  const { reports, open, faults, report, answer } = createRecord(clock)

  async function follow(marker: number, tx: Tx): Promise<void> {
    const landed = await answer('wait', marker, tx.wait('sealed'))
    if (landed) report({ marker, says: 'executed', how: 'wait', final: false, hash: landed.hash })
  }

  async function found(marker: number): Promise<Tx | undefined> {
    return markers.has(marker) ? await answer('get', marker, sender.get(idOf(marker))) : undefined
  }

  /** A transaction that is not in the store is not sent by any process. */
  async function look(by: Sender, marker: number): Promise<void> {
    const looked = await answer(
      'get',
      marker,
      by.get(idOf(marker)).then((tx) => ({ tx })),
    )
    if (looked?.tx) await follow(marker, looked.tx)
    else if (looked) report({ marker, says: 'notExecuted', how: 'get nothing', final: true })
  }

  return {
    get reports() {
      return withoutRetried(reports)
    },
    get markers() {
      return [...markers]
    },
    open,
    faults,
    async send(marker, { until = 'accepted', expiresInMs, onExpiry = 'leave' } = {}) {
      markers.add(marker)
      const controller = controllers.get(marker) ?? new AbortController()
      controllers.set(marker, controller)
      const expires =
        expiresInMs === undefined ? {} : { expires: { atMs: clock.wallNow() + expiresInMs }, onExpiry }
      const options = { id: idOf(marker), until, signal: controller.signal, ...expires }
      const tx = await answer('send', marker, sender.send(requestOf(marker), options))
      if (tx) await follow(marker, tx)
    },
    abort: (marker) => controllers.get(marker)?.abort(),
    async cancel(marker) {
      const tx = await found(marker)
      const cancelled = tx && (await answer('cancel', marker, tx.cancel()))
      if (cancelled === undefined) return
      const says = cancelled.result === 'tooLate' ? 'executed' : 'notExecuted'
      report({ marker, says, how: `cancel ${cancelled.result}`, final: true })
    },
    async replace(marker, next) {
      const tx = await found(marker)
      if (tx === undefined) return
      markers.add(next)
      const replaced = await answer('replace', next, tx.replace(requestOf(next), { id: idOf(next) }))
      if (replaced) await follow(next, replaced)
    },
    async speedUp(marker) {
      const tx = await found(marker)
      if (tx) await answer('speedUp', marker, tx.speedUp())
    },
    async ask(what, work) {
      await answer(what, undefined, work(sender))
    },
    async lastLook(by) {
      const sure = new Set(
        withoutRetried(reports)
          .filter(({ final }) => final)
          .map(({ marker }) => marker),
      )
      for (const marker of markers) {
        if (!sure.has(marker)) await look(by, marker)
      }
    },
  }
}

/** A record of all answers to the caller, and of its open promises. */
function createRecord(clock: VirtualClock) {
  const reports: CallerReport[] = []
  const open = new Set<string>()
  const faults: string[] = []
  let asked = 0

  const report = (one: Omit<CallerReport, 'atMs'>) => void reports.push({ ...one, atMs: clock.now() })

  /** The answer, or undefined if the request was refused. Records the report about the transaction. */
  async function answer<T>(
    how: string,
    marker: number | undefined,
    promise: Promise<T>,
  ): Promise<T | undefined> {
    const name = `${++asked}: ${how}${marker === undefined ? '' : ` of ${marker}`}`
    open.add(name)
    try {
      return await promise
    } catch (error) {
      refused(how, marker, name, error)
      return undefined
    } finally {
      open.delete(name)
    }
  }

  function refused(how: string, marker: number | undefined, name: string, error: unknown): void {
    const { fate, code, tx } = error as { fate?: CallerReport['says']; code?: string; tx?: { id: string } }
    if (fate === undefined || code === undefined) {
      faults.push(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
      return
    }
    // A failed speed-up or query says nothing about the transaction itself.
    if (marker === undefined || how === 'speedUp' || how === 'get') return
    const named = tx === undefined ? marker : markerOf(tx.id)
    report({ marker: named, says: fate, how: `${how} ${code}`, final: fate === 'notExecuted' })
    // The error concerns the transaction that was to be replaced: the replacement was not admitted at all.
    if (named !== marker) report({ marker, says: 'notExecuted', how: `${how} ${code}`, final: true })
  }

  return { reports, open, faults, report, answer }
}

/**
 * A transaction that the store rejected was sent again under the same id, so only the last report counts.
 */
function withoutRetried(reports: readonly CallerReport[]): CallerReport[] {
  const retried = ({ marker, how }: CallerReport, index: number) =>
    how.endsWith(' STORE') && reports.some((other, at) => at > index && other.marker === marker)
  return reports.filter((report, index) => !retried(report, index))
}
