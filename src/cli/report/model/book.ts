import type { ReportEvent } from '../read/event.js'
import type { Item } from '../read/recording.js'
import { addTo, createHistory, type History } from './history.js'

/** What was told of a nonce, without a transaction or with one. */
export type NonceEntry = {
  readonly at: number
  readonly event: ReportEvent['event']
  readonly history: History | undefined
}

export type Lane = {
  /** `chainId:address`. */
  readonly name: string
  readonly histories: Map<string, History>
  /** Told of the nonces that gaps are about. */
  readonly nonces: Map<number, NonceEntry[]>
}

/** Everything that a recording holds, put together by transaction, by nonce and by lane. */
export type Book = {
  readonly histories: readonly History[]
  readonly lanes: ReadonlyMap<string, Lane>
  /** In the order of the file: what is not told of one transaction's way alone. */
  readonly events: readonly ReportEvent[]
  readonly lives: readonly { readonly at: number; readonly package: string | undefined; closed: boolean }[]
  readonly dropped: readonly { readonly at: number; readonly count: number }[]
  readonly torn: number
  readonly unknown: number
  /** Events of senders. */
  readonly eventCount: number
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
}

// Told of each transaction that does well: they are in its history, and need no list of their own.
const PLAIN: ReadonlySet<string> = new Set(['queued', 'signed', 'accepted', 'preconfirmed', 'sealed'])

/** Pure: the same items make the same book. */
export function createBook(): { add(item: Item): void; finish(): Book } {
  const histories: History[] = []
  const lanes = new Map<string, Lane>()
  const events: ReportEvent[] = []
  const lives: { at: number; package: string | undefined; closed: boolean }[] = []
  const dropped: { at: number; count: number }[] = []
  let [torn, unknown, eventCount] = [0, 0, 0]
  let [startedAt, endedAt] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

  function laneOf(name: string): Lane {
    const known = lanes.get(name)
    if (known) return known
    const lane: Lane = { name, histories: new Map(), nonces: new Map() }
    lanes.set(name, lane)
    return lane
  }

  function historyOf(lane: Lane, id: string): History {
    const known = lane.histories.get(id)
    if (known) return known
    const history = createHistory(histories.length, id, lane.name)
    histories.push(history)
    lane.histories.set(id, history)
    return history
  }

  function addEvent(event: ReportEvent): void {
    eventCount++
    const lane = laneOf(event.lane)
    const history = event.id === undefined ? undefined : historyOf(lane, event.id)
    // An error is about a transaction, and no step on its way.
    if (history && event.event !== 'error') addTo(history, event)
    if (event.nonce !== undefined) noteNonce(lane, event.nonce, event, history)
    if (!PLAIN.has(event.event)) events.push(event)
  }

  function noteNonce(lane: Lane, nonce: number, { at, event }: ReportEvent, history: History | undefined) {
    // A nonce's story is asked for where there is a gap: without one, what took it says enough.
    if (event !== 'gap' && event !== 'gapFilled' && !lane.nonces.has(nonce)) return
    const entries = lane.nonces.get(nonce) ?? []
    entries.push({ at, event, history })
    lane.nonces.set(nonce, entries)
  }

  function seen(at: number): void {
    startedAt = Math.min(startedAt, at)
    endedAt = Math.max(endedAt, at)
  }

  function add(item: Item): void {
    if (item.kind === 'torn') {
      torn++
      return
    }
    seen(item.kind === 'event' ? item.event.at : item.at)
    switch (item.kind) {
      case 'event':
        return addEvent(item.event)
      case 'life':
        return void lives.push({ at: item.at, package: item.package, closed: false })
      case 'lane':
        return void laneOf(item.lane)
      case 'dropped':
        return void dropped.push({ at: item.at, count: item.count })
      case 'closed': {
        const life = lives.at(-1)
        if (life) life.closed = true
        return
      }
      case 'unknown':
        unknown++
        return
      default:
        return item satisfies never
    }
  }

  return {
    add,
    finish: () => ({
      histories,
      lanes,
      events,
      lives,
      dropped,
      torn,
      unknown,
      eventCount,
      startedAt: startedAt === Number.POSITIVE_INFINITY ? undefined : startedAt,
      endedAt: endedAt === Number.NEGATIVE_INFINITY ? undefined : endedAt,
    }),
  }
}
