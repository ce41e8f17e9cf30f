import { StringDecoder } from 'node:string_decoder'
import { RECORDING_FORMAT, RECORDING_VERSION } from '../../../src/recorder/schema.js'
import { count, type Fields, isFields, isKnown, type ReportEvent, text, toEvent } from './event.js'

/** Result of parsing a line of a recording. */
export type Item =
  | { readonly kind: 'event'; readonly event: ReportEvent }
  /** A recorder started, or continued in another file. */
  | { readonly kind: 'life'; readonly at: number; readonly package: string | undefined }
  | { readonly kind: 'lane'; readonly at: number; readonly lane: string }
  | { readonly kind: 'dropped'; readonly at: number; readonly count: number }
  | { readonly kind: 'closed'; readonly at: number }
  /** An event name that this version does not know. */
  | { readonly kind: 'unknown'; readonly at: number }
  /** A truncated line. */
  | { readonly kind: 'torn' }

const MAJOR = RECORDING_VERSION.split('.')[0]
// The latest time that a Date can represent.
const TIME_MS_MAX = 8.64e15

/**
 * Reads a recording line by line. It tolerates a line that was truncated by the end of the file or by a new
 * session, and events of newer minor versions.
 *
 * @throws Error that names the line if the file is not a recording, or has another major version
 */
export async function* readRecording(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Item> {
  // An invalid line, which is tolerated if a new session begins below it.
  let odd: Line | undefined
  for await (const queue of linesOf(chunks)) {
    if (queue.text.trim() === '') continue
    const raw = parse(queue.text)
    const item = raw === undefined ? undefined : itemOf(raw, queue.number)
    if (odd !== undefined) {
      if (item?.kind !== 'life') throw foreign(odd)
      yield { kind: 'torn' }
      odd = undefined
    }
    if (item !== undefined) yield item
    else if (queue.number === 1) {
      if (!(queue.unended && looksCut(queue.text))) throw foreign(queue)
      yield { kind: 'torn' }
    } else odd = queue
  }
  if (odd === undefined) return
  if (!odd.unended) throw foreign(odd)
  yield { kind: 'torn' }
}

function parse(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether the text can be the truncated start of a recorded line. */
function looksCut(line: string): boolean {
  return '{"at":'.startsWith(line.slice(0, 6)) && line.length < 4_096
}

function itemOf(raw: Fields, number: number): Item | undefined {
  const { at, event } = raw
  if (typeof at !== 'number' || !(at >= 0 && at <= TIME_MS_MAX) || typeof event !== 'string') return undefined
  switch (event) {
    case 'recording':
      return lifeOf(at, raw, number)
    case 'dropped':
      return { kind: 'dropped', at, count: count(raw.count) ?? 0 }
    case 'closed':
      return { kind: 'closed', at }
    default:
      return inLane(at, event, raw, number)
  }
}

function inLane(at: number, event: string, raw: Fields, number: number): Item | undefined {
  const lane = text(raw.lane)
  if (event === 'following' && lane !== undefined) return { kind: 'lane', at, lane }
  // Any log may have events with times. The first line must identify the file as a recording.
  if (!isKnown(event)) return number === 1 && lane === undefined ? undefined : { kind: 'unknown', at }
  return lane === undefined ? undefined : { kind: 'event', event: toEvent(at, event, lane, raw) }
}

function lifeOf(at: number, raw: Fields, number: number): Item | undefined {
  if (raw.format !== RECORDING_FORMAT) return undefined
  const version = text(raw.version) ?? ''
  if (version.split('.')[0] !== MAJOR) {
    throw new Error(
      `line ${number} begins a recording of version ${show(version)}, but this command reads version ${MAJOR}: use the package version that wrote it.`,
    )
  }
  return { kind: 'life', at, package: text(raw.package) }
}

function foreign({ number, text: line }: Line): Error {
  return new Error(`line ${number} is not a line of a recording: ${show(line)}`)
}

const SHOWN_MAX = 60

/** An excerpt of an untrusted file: short, and without terminal escapes. */
function show(value: string): string {
  return JSON.stringify(value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}…` : value)
}

// Far above the length of an event, so that a file without line breaks is not read into memory as a whole.
const LINE_LENGTH_MAX = 1_048_576

type Line = {
  /** Line number, from 1. */
  readonly number: number
  readonly text: string
  /** Whether the file ended in the middle of the line, as far as is known. */
  readonly unended: boolean
}

/** The lines of a stream without their line breaks. An overlong line is cut. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let number = 0
  for await (const chunk of chunks) {
    const parts = (rest + decoder.write(chunk as Buffer)).split('\n')
    rest = parts.pop() ?? ''
    for (const text of parts) yield { number: ++number, text, unended: false }
    if (rest.length > LINE_LENGTH_MAX) break
  }
  rest = rest.slice(0, LINE_LENGTH_MAX)
  if (rest !== '') yield { number: number + 1, text: rest, unended: true }
}
