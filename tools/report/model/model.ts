import type { Item } from '../read/recording.js'
import { type Book, createBook } from './book.js'
import { type Latency, latencyOf } from './latency.js'
import type { Problem } from './problem.js'
import { problemsOf } from './problems.js'
import { type Summary, summaryOf } from './summary.js'
import { type Throughput, throughputOf } from './throughput.js'
import { type Unfinished, unfinishedOf } from './unfinished.js'

/** All data of a report, before it is rendered. */
export type Model = {
  readonly book: Book
  readonly problems: readonly Problem[]
  readonly unfinished: readonly Unfinished[]
  readonly latency: Latency
  readonly throughput: Throughput | undefined
  readonly summary: Summary
}

export async function buildModel(items: AsyncIterable<Item> | Iterable<Item>): Promise<Model> {
  const building = createBook()
  for await (const item of items) building.add(item)
  const book = building.finish()
  const problems = problemsOf(book)
  const latency = latencyOf(book.histories)
  const { startedAt, endedAt, firstEventAt = startedAt } = book
  const throughput =
    firstEventAt === undefined || endedAt === undefined
      ? undefined
      : throughputOf(book.histories, firstEventAt, endedAt)
  const summary = summaryOf(book, problems, latency, throughput)
  return { book, problems, unfinished: unfinishedOf(book, problems), latency, throughput, summary }
}
