import { AsyncLocalStorage } from 'node:async_hooks'
import PQueue from 'p-queue'
import { type Outcome, type RunChain, runOne } from './run.js'
import type { Scenario, Subject } from './types.js'

export type Row = { readonly scenario: Scenario; readonly outcomes: ReadonlyMap<string, Outcome> }

export type Report = {
  readonly rows: readonly Row[]
  /** Unhandled rejections that belong to no run. */
  readonly strays: readonly string[]
}

// A run mostly waits for blocks; its senders and its node share this process and one thread.
const RUNS_AT_ONCE = 6

/** Runs every scenario with every subject, several concurrently, each on a separate chain. */
export async function runAll(options: {
  readonly scenarios: readonly Scenario[]
  readonly subjects: readonly Subject[]
  readonly chain: RunChain
  readonly onOutcome?: (done: number, all: number) => void
}): Promise<Report> {
  const { scenarios, subjects, chain } = options
  const crashes = catchCrashes()
  const queue = new PQueue({ concurrency: RUNS_AT_ONCE })
  const all = scenarios.length * subjects.length
  let done = 0
  try {
    const runs = scenarios.map((scenario) =>
      subjects.map((subject) =>
        queue.add(async () => {
          const outcome = await crashes.during((seen) => runOne({ scenario, subject, crashes: seen, chain }))
          done += 1
          options.onOutcome?.(done, all)
          return [subject.name, outcome] as const
        }),
      ),
    )
    const rows: Row[] = []
    for (const [index, scenario] of scenarios.entries()) {
      rows.push({ scenario, outcomes: new Map(await Promise.all(runs[index]!)) })
    }
    return { rows, strays: crashes.strays }
  } finally {
    crashes.stop()
  }
}

/** Catches unhandled rejections, which would end a process, and assigns each to its run. */
function catchCrashes() {
  const runs = new AsyncLocalStorage<string[]>()
  const strays: string[] = []
  const take = (error: unknown) => {
    const text = (error instanceof Error ? error.message : String(error)).slice(0, 160)
    ;(runs.getStore() ?? strays).push(text)
  }
  // A rejection that is handled late counts as unhandled. Without this listener Node would print a warning
  // for each.
  const late = () => undefined
  process.on('unhandledRejection', take)
  process.on('rejectionHandled', late)
  return {
    strays: strays as readonly string[],
    during<t>(run: (seen: readonly string[]) => Promise<t>): Promise<t> {
      const seen: string[] = []
      return runs.run(seen, () => run(seen))
    },
    stop() {
      process.off('unhandledRejection', take)
      process.off('rejectionHandled', late)
    },
  }
}
