import { isTxlaneError, TxlaneError } from '../errors/base.js'
import type {
  Item,
  ItemResult,
  Landed,
  Progress,
  SendManyOptions,
  SendOptions,
  Tx,
  TxRequest,
} from '../types.js'
import { object, oneOf } from './validate.js'

/** Items under way at once: enough to fill any window, few enough that a file of millions is read as it is sent. */
const UNDER_WAY_MAX = 8_192

/** Queues one transaction; `accepted` resolves when a node has taken it. */
export type Start = (
  request: TxRequest,
  options: SendOptions,
) => Promise<{ tx: Tx; accepted: () => Promise<void> }>

/**
 * Sends items as the lane takes them and gives each one's result when it is known, not in the order of the items.
 * Ends early, with what is under way left to itself, when the caller stops iterating or the signal aborts.
 */
export async function* sendMany(
  start: Start,
  items: Iterable<Item> | AsyncIterable<Item>,
  options: SendManyOptions = {},
): AsyncGenerator<ItemResult, void, undefined> {
  oneOf('options.until', options.until, ['accepted', 'preconfirmed', 'sealed', 'safe', 'finalized'])
  const source = iteratorOf(items)
  const progress: Progress = { taken: 0, accepted: 0, preconfirmed: 0, sealed: 0, failed: 0 }
  const results: ItemResult[] = []
  let wake: (() => void) | undefined
  let underWay = 0
  let exhausted = false
  let pulling = false
  let failure: unknown

  const tell = () => options.onProgress?.({ ...progress })
  const done = (result: ItemResult) => {
    underWay--
    results.push(result)
    if (!result.ok) progress.failed++
    tell()
    wake?.()
  }

  async function one(index: number, item: Item): Promise<void> {
    let id = item?.id ?? ''
    try {
      const { request, ...own } = object(`items[${index}]`, item) as unknown as Item
      const { tx, accepted } = await start(request, { ...own, signal: own.signal ?? options.signal })
      id = tx.id
      await accepted()
      progress.accepted++
      tell()
      done({ index, id, ok: true, tx, ...(await reach(tx)) })
    } catch (error) {
      done({ index, id, ok: false, error: typed(error) })
    }
  }

  async function reach(tx: Tx): Promise<{ landed?: Landed }> {
    const { until = 'accepted', signal } = options
    if (until === 'accepted') return {}
    const landed = await tx.wait(until, { signal })
    if (until === 'preconfirmed') progress.preconfirmed++
    else progress.sealed++
    return { landed }
  }

  async function pull(): Promise<void> {
    if (pulling) return
    pulling = true
    try {
      while (!exhausted && underWay < UNDER_WAY_MAX && !options.signal?.aborted) {
        const next = await source.next()
        if (next.done) {
          exhausted = true
          break
        }
        underWay++
        void one(progress.taken++, next.value)
      }
    } catch (error) {
      failure = error
      exhausted = true
    }
    if (options.signal?.aborted) exhausted = true
    pulling = false
    wake?.()
  }

  try {
    void pull()
    for (;;) {
      const result = results.shift()
      if (result) {
        yield result
        if (!exhausted && underWay < UNDER_WAY_MAX / 2) void pull()
        continue
      }
      if (exhausted && underWay === 0) break
      await new Promise<void>((resolve) => {
        wake = resolve
        if (results.length > 0 || (exhausted && underWay === 0)) resolve()
      })
    }
    if (failure !== undefined) throw failure
  } finally {
    exhausted = true
    await source.return?.()
  }
}

function iteratorOf(items: Iterable<Item> | AsyncIterable<Item>): AsyncIterator<Item> | Iterator<Item> {
  if (typeof items === 'object' && items !== null) {
    if (Symbol.asyncIterator in items) return items[Symbol.asyncIterator]()
    if (Symbol.iterator in items) return items[Symbol.iterator]()
  }
  throw new TxlaneError('Invalid items: expected an iterable of items.', {
    code: 'INVALID',
    fate: 'notExecuted',
  })
}

function typed(error: unknown): TxlaneError {
  if (isTxlaneError(error)) return error
  return new TxlaneError('The item could not be sent.', { code: 'REJECTED', fate: 'inFlight', cause: error })
}
