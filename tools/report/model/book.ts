import type { ReportEvent } from '../read/event.js'
import type { Item } from '../read/recording.js'
import { addTo, createHistory, type History } from './history.js'

/** An event of a nonce, with or without a transaction. */
export type NonceEntry = {
  readonly at: number
  readonly event: ReportEvent['event']
  readonly history: History | undefined
}

export type Lane = {
  /** `chainId:address`. */
  readonly name: string
  readonly histories: Map<string, History>
  /** Events of the nonces that had a gap. */
  readonly nonces: Map<number, NonceEntry[]>
}

/** The content of a recording, grouped by transaction, nonce and lane. */
export type Book = {
  readonly histories: readonly History[]
  readonly lanes: ReadonlyMap<string, Lane>
  /** Events in file order, without the usual stages of single transactions. */
  readonly events: readonly ReportEvent[]
  readonly lives: readonly { readonly at: number; readonly package: string | undefined; closed: boolean }[]
  readonly dropped: readonly { readonly at: number; readonly count: number }[]
  readonly torn: number
  readonly unknown: number
  /** Number of events from senders. */
  readonly eventCount: number
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
  /** The first event of a sender. A recorder may run for hours before it. */
  readonly firstEventAt: number | undefined
}

// Events of every successful transaction. Its history has them, so they need no other list.
const PLAIN: ReadonlySet<string> = new Set(['queued', 'signed', 'accepted', 'preconfirmed', 'sealed'])

/** Pure: equal items give an equal book. */
export function createBook(): { add(item: Item): void; finish(): Book } {
  const histories: History[] = []
  const lanes = new Map<string, Lane>()
  const events: ReportEvent[] = []
  const lives: { at: number; package: string | undefined; closed: boolean }[] = []
  const dropped: { at: number; count: number }[] = []
  let [torn, unknown, eventCount] = [0, 0, 0]
  let [startedAt, endedAt] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

  let firstEventAt: number | undefined

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
    firstEventAt = Math.min(firstEventAt ?? event.at, event.at)
    const lane = laneOf(event.lane)
    const history = event.id === undefined ? undefined : historyOf(lane, event.id)
    // An error event concerns a transaction, but is not a step of it.
    if (history && event.event !== 'error') addTo(history, event)
    if (event.nonce !== undefined) noteNonce(lane, event.nonce, event, history)
    if (!PLAIN.has(event.event)) events.push(event)
  }

  function noteNonce(lane: Lane, nonce: number, { at, event }: ReportEvent, history: History | undefined) {
    // The history of a nonce is only needed after a gap.
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
      firstEventAt,
    }),
  }
}
