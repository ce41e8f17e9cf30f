import { isTxlaneError, TxlaneError } from '../../errors/base.js'
import { checkNames } from '../../errors/checkNames.js'
import { invalid } from '../../errors/invalid.js'
import { onAbort } from '../../platform/onAbort.js'
import type {
  Item,
  ItemResult,
  Landed,
  Progress,
  SendManyOptions,
  SendOptions,
  Tx,
  TxRequest,
} from '../../types/index.js'
import { SEND_MANY_OPTIONS } from '../../validate/names.js'
import { checkSignal, object, oneOf } from '../../validate/validate.js'

/** Items in flight at once: enough to fill any window, few enough that a file of millions is read as it is sent. */
const UNDER_WAY_MAX = 8_192

/** Queues one transaction; `accepted` resolves when a node has taken it. */
export type Start = (
  request: TxRequest,
  options: SendOptions,
) => Promise<{ tx: Tx; accepted: () => Promise<unknown> }>

/**
 * Sends items as the lane admits them and yields each result when it is known, not in the order of the items. Ends
 * early when the caller stops iterating or the signal aborts; transactions in flight continue then. `underWayMax`:
 * the maximum number of items that were taken from the source and whose results were not yielded yet.
 * @throws TxlaneError `INVALID` at once, before an item is taken
 */
export function sendMany(
  start: Start,
  items: Iterable<Item> | AsyncIterable<Item>,
  options: SendManyOptions = {},
  underWayMax = UNDER_WAY_MAX,
): AsyncGenerator<ItemResult, void, undefined> {
  const { until, signal, onProgress } = object('options', options) as SendManyOptions
  checkNames('options', options, SEND_MANY_OPTIONS)
  oneOf('options.until', until, ['accepted', 'preconfirmed', 'sealed', 'safe', 'finalized'])
  checkSignal('options.signal', signal)
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw invalid('options.onProgress', onProgress, 'a function')
  return run(start, iteratorOf(items), options, Math.min(underWayMax, UNDER_WAY_MAX))
}

async function* run(
  start: Start,
  source: AsyncIterator<Item> | Iterator<Item>,
  options: SendManyOptions,
  underWayMax: number,
): AsyncGenerator<ItemResult, void, undefined> {
  const progress: Progress = { taken: 0, accepted: 0, preconfirmed: 0, sealed: 0, failed: 0 }
  const results: ItemResult[] = []
  let wake: (() => void) | undefined
  /**
   * Items taken whose results were not yielded yet. Waiting results count, or they would pile up for a slow consumer.
   */
  let underWay = 0
  let exhausted = false
  let pulling = false
  let failure: unknown

  /** A listener that throws must not affect the items or their results. */
  const report = () => {
    try {
      options.onProgress?.({ ...progress })
    } catch {}
  }
  const done = (result: ItemResult) => {
    results.push(result)
    if (!result.ok) progress.failed++
    report()
    wake?.()
  }
  /** Wakes the loop, because the source may wait for an item that never comes. */
  const abort = () => {
    exhausted = true
    wake?.()
  }

  async function one(index: number, item: Item): Promise<void> {
    let id = item?.id ?? ''
    try {
      const { request, ...own } = object(`items[${index}]`, item) as unknown as Item
      own.signal ??= options.signal
      const { tx, accepted } = await start(request, own)
      id = tx.id
      await accepted()
      progress.accepted++
      report()
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
      while (!exhausted && underWay < underWayMax && !options.signal?.aborted) {
        const next = await source.next()
        // The caller or the signal ended the iteration meanwhile. The item is dropped and never sent.
        if (exhausted) break
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

  const off = options.signal && onAbort(options.signal, abort)
  try {
    void pull()
    for (;;) {
      const result = results.shift()
      if (result) {
        underWay--
        yield result
        if (!exhausted && underWay <= underWayMax / 2) void pull()
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
    off?.()
    const returned = Promise.resolve(source.return?.())
    // A generator that waits for its own next item does not process `return` before that item arrives.
    if (pulling) void returned.catch(() => {})
    else await returned
  }
}

function iteratorOf(items: Iterable<Item> | AsyncIterable<Item>): AsyncIterator<Item> | Iterator<Item> {
  if (typeof items === 'object' && items !== null) {
    if (Symbol.asyncIterator in items) return items[Symbol.asyncIterator]()
    if (Symbol.iterator in items) return items[Symbol.iterator]()
  }
  throw invalid('items', items, 'an iterable of items')
}

function typed(error: unknown): TxlaneError {
  if (isTxlaneError(error)) return error
  return new TxlaneError('The item could not be sent.', { code: 'REJECTED', fate: 'inFlight', cause: error })
}
