import type { Environment } from '../chain/environment.js'
import type { CancelTimer, Clock } from '../platform/clock.js'
import type { LaneReport } from '../types/laneReports.js'
import { chainName, type LaneKey, type Lease, laneName, type Store } from '../types/store.js'

/**
 * The reports of owners about their lanes, through the store. There is one object for each store, so that one write and one
 * read serve all lanes of the process. A report is only a hint: the owner corrects decisions that rest on an old one.
 */
export type Reports = {
  /** Writes the report of `reportNow` to the store whenever it has changed, until the returned function is called. */
  publish(lease: Lease, reportNow: () => LaneReport): () => void
  /** Reads the report about the lane from now on, together with those of all other lanes. */
  follow(lane: LaneKey): Followed
  /** Reads again if the last read is older. Undefined if there is nothing to read. Never rejects. */
  fresh(maxAgeMs: number): Promise<void> | undefined
}

/** The last report about a lane that another process may own. */
export type Followed = {
  /** Undefined until the first read. */
  readonly isHeld: boolean | undefined
  readonly report: LaneReport | undefined
  /** The transactions that this process has added to the lane since. */
  readonly given: { readonly count: number; readonly costWei: bigint }
  give(costWei: bigint): void
  stop(): void
}

/** A change is reported within this time. */
const PUBLISH_MS = 250

type Publisher = { readonly lease: Lease; readonly reportNow: () => LaneReport; written: string | undefined }
type Given = { readonly count: number; readonly costWei: bigint }
type Entry = { isHeld: boolean | undefined; report: LaneReport | undefined; given: Given }

const NOTHING: Given = { count: 0, costWei: 0n }

function createReports({ store, clock }: { readonly store: Store; readonly clock: Clock }): Reports {
  const publishers = new Set<Publisher>()
  const followed = new Map<string, { readonly lane: LaneKey; readonly entries: Set<Entry> }>()
  let next: CancelTimer | undefined
  let reporting = false
  let reading: Promise<void> | undefined
  let readAtMs = Number.NEGATIVE_INFINITY

  function plan(): void {
    if (publishers.size > 0 && !reporting) next ??= clock.setTimer(() => void publishAll(), PUBLISH_MS)
  }

  async function publishAll(): Promise<void> {
    next = undefined
    const changed = [...publishers].flatMap((publisher) => {
      const report = publisher.reportNow()
      const text = textOf(report)
      return text === publisher.written ? [] : [{ publisher, report, text }]
    })
    reporting = true
    if (changed.length > 0) await write(changed)
    reporting = false
    plan()
  }

  async function write(
    changed: readonly { readonly publisher: Publisher; readonly report: LaneReport; readonly text: string }[],
  ): Promise<void> {
    try {
      await store.report(changed.map(({ publisher: { lease }, report }) => ({ lease, report })))
      for (const { publisher, text } of changed) publisher.written = text
    } catch {
      // The report is written again the next time. Calls that need the store notice its failure.
    }
  }

  async function read(): Promise<void> {
    const asked = [...followed.values()]
    const before = new Map(asked.flatMap(({ entries }) => [...entries].map((one) => [one, one.given])))
    const said = await Promise.all(
      byChain(asked.map(({ lane }) => lane)).map((lanes) => store.reports(lanes)),
    ).catch(() => undefined)
    if (said === undefined) return
    readAtMs = clock.now()
    const byName = new Map(said.flat().map((one) => [laneName(one.lane), one]))
    for (const [entry, given] of before) entry.given = minus(entry.given, given)
    for (const [name, { entries }] of followed) {
      const { isHeld = false, report } = byName.get(name) ?? {}
      for (const entry of entries) Object.assign(entry, { isHeld, report })
    }
  }

  return {
    publish(lease, reportNow) {
      const publisher: Publisher = { lease, reportNow, written: undefined }
      publishers.add(publisher)
      plan()
      return () => {
        publishers.delete(publisher)
        if (publishers.size > 0) return
        next?.()
        next = undefined
      }
    },
    follow(lane) {
      const name = laneName(lane)
      const entry: Entry = { isHeld: undefined, report: undefined, given: NOTHING }
      const of = followed.get(name) ?? { lane, entries: new Set() }
      followed.set(name, of)
      of.entries.add(entry)
      readAtMs = Number.NEGATIVE_INFINITY
      return {
        get isHeld() {
          return entry.isHeld
        },
        get report() {
          return entry.report
        },
        get given() {
          return entry.given
        },
        give(costWei) {
          const { given } = entry
          entry.given = { count: given.count + 1, costWei: given.costWei + costWei }
        },
        stop() {
          of.entries.delete(entry)
          if (of.entries.size === 0) followed.delete(name)
        },
      }
    },
    fresh(maxAgeMs) {
      if (followed.size === 0 || clock.now() - readAtMs < maxAgeMs) return undefined
      reading ??= read().finally(() => {
        reading = undefined
      })
      return reading
    },
  }
}

/** Groups lanes by chain, because one read of the store serves one chain. */
function byChain(lanes: readonly LaneKey[]): readonly (readonly LaneKey[])[] {
  const chains = new Map<string, LaneKey[]>()
  for (const lane of lanes) chains.set(chainName(lane), [...(chains.get(chainName(lane)) ?? []), lane])
  return [...chains.values()]
}

function minus(from: Given, given: Given): Given {
  return { count: from.count - given.count, costWei: from.costWei - given.costWei }
}

function textOf({ holds, room, load, owedWei }: LaneReport): string {
  return [holds, room, load, owedWei].map(String).join('|')
}

/** A store that ends with this process has no other readers. */
const NONE: Reports = {
  publish: () => () => {},
  follow: () => ({ isHeld: undefined, report: undefined, given: NOTHING, give() {}, stop() {} }),
  fresh: () => undefined,
}

/** The reports of this process for a store. */
export function reportsOf({ shared, clock, background }: Environment, store: Store): Reports {
  if (!store.durable) return NONE
  const known = shared.reports.get(store) as Reports | undefined
  if (known !== undefined) return known
  const reports = createReports({ store, clock: background ?? clock })
  shared.reports.set(store, reports)
  return reports
}
