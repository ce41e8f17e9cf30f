import type { Hex } from 'viem'
import type { Clock } from '../../src/platform/clock.js'
import { memberId } from './ids.js'
import type { Item, Member } from './items.js'
import type { CallerReport } from './oracle.js'
import type { Subject, SubjectStage } from './subjectTypes.js'
import { createCalls, createInquiries, failed, NO_TAG_WAITS, type TagWaits } from './workload/calls.js'
import { createChanges, createOutsideCode, createWork } from './workload/changes.js'
import { asSent, requestOf } from './workload/requests.js'

/** The reports to the caller, and its open promises. */
export type Journal = {
  readonly reports: readonly CallerReport[]
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
  /** @default no caller waits for a tag */
  readonly tags?: TagWaits
}

/** The caller: sends, waits, changes its mind, and records all reports. */
export function createWorkload({
  clock,
  chainId,
  subject,
  post,
  tags = NO_TAG_WAITS,
}: WorkloadOptions): Workload {
  const expiry = new Map<number, number>()
  const waiting: Item[] = []
  const calls = createCalls(clock, subject)
  const work = createWork()
  const inquiries = createInquiries(calls, tags)
  const changeLater = createChanges(calls, inquiries, work)
  const outsideCode = createOutsideCode(calls, inquiries, work, { chainId, post })
  const { asked, report } = calls
  const { send, again, pause, follow } = inquiries

  async function run(item: Item, first: boolean): Promise<void> {
    const { marker, until, expiresInMs, onExpiry, abortAfterMs, stage, changes, receiptWithinMs } = item
    work.began(marker, () => run(item, false))
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
      if (receiptWithinMs !== undefined) await inquiries.firstReceipt(marker, tx, receiptWithinMs)
      await follow(marker, tx, stage)
    }
    work.finished(marker)
  }

  /**
   * A sequence is admitted as a whole in the end: unless it is known to be, it is sent again by the same id.
   */
  async function runSequence(item: Item, rest: readonly Member[]): Promise<void> {
    const { marker, until, stage } = item
    const all = [item, ...rest].map((one) => one.marker)
    all.forEach((one, index) => void work.wants(one, memberId(marker, index)))
    work.began(marker, () => runSequence(item, rest))
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
        for (const one of all) report(one, 'notExecuted', 'sendSequence', true)
        break
      }
      if (sent.code === 'ENDED') {
        await Promise.all(all.map((one) => lookUp(one, stage)))
        break
      }
      await pause(marker)
    }
    work.finished(marker)
  }

  function abortAfter(afterMs: number): AbortSignal {
    const controller = new AbortController()
    calls.later(afterMs, async () => controller.abort())
    return controller.signal
  }

  /** Follows the stored transaction of the marker's own id. If there is none, it must never happen. */
  async function lookUp(marker: number, stage: SubjectStage): Promise<void> {
    await inquiries.followFound(marker, await again(marker, work.idOf(marker)), stage)
  }

  function begin(item: Item): void {
    if (item.outside !== undefined) void outsideCode.run(item)
    else if (item.sequence !== undefined) void runSequence(item, item.sequence)
    else void run(item, true)
  }

  return {
    reports: calls.reports,
    markers: work.markers,
    open: calls.open,
    untyped: calls.untyped,
    start(item) {
      clock.setTimer(() => {
        if (calls.isAlive) begin(item)
        else waiting.push(item)
      }, item.atMs)
    },
    crashed: calls.crashed,
    restarted(next) {
      calls.restarted(next)
      work.resumeAll()
      for (const item of waiting.splice(0)) begin(item)
    },
    async lastLook() {
      for (const marker of new Set(unsureOf(calls.reports))) {
        const hash = outsideCode.hashOf(marker)
        const by = hash === undefined ? work.idOf(marker) : { hash }
        const found = await asked(marker, 'get', (from) => from.get(by))
        if (found !== undefined && !failed(found)) await follow(marker, found, 'sealed')
      }
    },
  }
}

/**
 * Transactions reported as sealed and no deeper: a reorg may have removed them, and another transaction may
 * have landed.
 */
function unsureOf(reports: readonly CallerReport[]): number[] {
  const sure = new Set(reports.filter(({ final }) => final).map(({ marker }) => marker))
  return reports
    .filter(({ says, marker }) => says === 'executed' && !sure.has(marker))
    .map(({ marker }) => marker)
}
