import { resolve } from 'node:path'
import type { Chain } from 'viem'
import { PACKAGE_VERSION, TxlaneError } from '../errors/base.js'
import { checkNames, type Names } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { eventNames } from '../lane/emitter.js'
import { type Clock, systemClock } from '../platform/clock.js'
import type { Sender, SenderEvents } from '../types/index.js'
import { createFields, describeError } from './fields.js'
import { type AppendFile, createLineWriter, openAppendFile } from './lineWriter.js'
import { RECORDING_FORMAT, RECORDING_VERSION, type RecordingLine } from './schema.js'

/** Writes the events of senders into a file. */
export interface Recorder extends AsyncDisposable {
  /** The absolute path of the file. */
  readonly path: string
  /**
   * The number of lines that are not in the file, because the buffer was full or the file could not be
   * written.
   */
  readonly dropped: number
  /**
   * Records every event of this sender, or of each sender of this pool, from now on. Several senders may be
   * followed, at any time; a sender followed twice is recorded once. Two senders of one lane emit the same
   * events, so follow only one of them.
   *
   * @returns a function that stops following; calling it again has no effect
   */
  follow<chain extends Chain>(source: Sender<chain>): () => void
  /** Resolves once all events so far are written. Never rejects. */
  flush(): Promise<void>
  /**
   * Stops following, writes the remaining lines and closes the file. Never rejects. Calling it again has no
   * effect.
   */
  close(): Promise<void>
}

/**
 * Records the events of senders and pools, each as one line of JSON, for `txlane report` or your own tools.
 * docs/recorder.md describes the lines. They contain ids, nonces, hashes, fees and times, but no calldata,
 * values or keys, and only the origin of URLs.
 *
 * The file is readable only by its owner. An existing file is appended to, so it may contain several runs of
 * a process. Give each process its own file.
 *
 * Sending is never delayed. Events wait for the disk in a limited buffer; events without room are dropped,
 * and their number is written. If the file cannot be written any more, the recording stops, and `onError` is
 * called once.
 *
 * Not guaranteed: that an event is on the disk when it is emitted, or after a loss of power. A killed process
 * loses the last `flushIntervalMs`. Events before `follow` are not recorded.
 *
 * @throws TxlaneError `INVALID` at once if the file cannot be opened, or an option is invalid
 * @example
 * const recorder = recordTo('./run.jsonl')
 * const sender = createSender({ client })
 * recorder.follow(sender)
 * await sender.send({ to, value: 1n })
 * await sender.close()
 * await recorder.close()
 */
export function recordTo(path: string, options?: RecordToOptions): Recorder {
  return createRecorderIn({ clock: systemClock }, settingsOf(path, options))
}

type RecorderEnvironment = {
  readonly clock: Clock
  /** @throws if the file cannot be written */
  readonly openFile?: (path: string) => AppendFile
}

type Followed = { readonly lane: string; readonly opening: () => string; users: number; off: () => void }

/** `recordTo` in a given environment. */
export function createRecorderIn(environment: RecorderEnvironment, settings: Settings): Recorder {
  const { clock, openFile = openAppendFile } = environment
  const file = opened(openFile, settings.path)
  const startedAt = clock.wallNow()
  const fieldsOf = createFields()
  const followed = new Map<Sender, Followed>()
  let closed: Promise<void> | undefined

  const writer = createLineWriter({
    file,
    clock,
    ...settings,
    opening: () => [header(), ...[...followed.values()].map(({ opening }) => opening())],
    missing: (count) => text({ at: clock.wallNow(), event: 'dropped', count }),
    failed: reportFailure,
  })
  // An incomplete last line stays a line by itself.
  writer.write(`${file.torn ? '\n' : ''}${header()}`)

  function header(): string {
    const own = { format: RECORDING_FORMAT, version: RECORDING_VERSION, package: PACKAGE_VERSION } as const
    return text({ at: clock.wallNow(), event: 'recording', ...own, startedAt })
  }

  function follow(source: Sender): () => void {
    const senders = closed ? [] : sendersOf(source)
    for (const sender of senders) followOne(sender)
    let following = true
    return () => {
      if (following) for (const sender of senders) unfollow(sender)
      following = false
    }
  }

  function followOne(sender: Sender): void {
    const known = followed.get(sender)
    if (known) {
      known.users++
      return
    }
    const [chainId, address] = [sender.chain.id, sender.address]
    const lane = `${chainId}:${address}`
    const opening = () => text({ at: clock.wallNow(), event: 'following', lane, chainId, address })
    writer.write(opening())
    const offs = eventNames.map((event) => sender.on(event, (payload) => hear(lane, event, payload)))
    followed.set(sender, { lane, opening, users: 1, off: () => offs.forEach((off) => void off()) })
  }

  function unfollow(sender: Sender): void {
    const known = followed.get(sender)
    if (known === undefined || --known.users > 0) return
    known.off()
    followed.delete(sender)
  }

  function hear<event extends keyof SenderEvents>(
    lane: string,
    event: event,
    payload: SenderEvents[event],
  ): void {
    try {
      writer.write(text({ at: clock.wallNow(), event, lane, ...fieldsOf[event](payload) }))
    } catch {
      // A problem with a recording must not affect the lane.
      writer.drop()
    }
  }

  async function close(): Promise<void> {
    for (const { off } of followed.values()) off()
    followed.clear()
    writer.write(text({ at: clock.wallNow(), event: 'closed' }))
    await writer.close()
  }

  function reportFailure(cause: unknown): void {
    for (const { off } of followed.values()) off()
    const error = new TxlaneError('The recording cannot be written any more, and has stopped.', {
      code: 'STORE',
      // The error concerns no transaction, so it must not lead a caller to send one again.
      fate: 'inFlight',
      cause,
      details: describeError(cause).message,
    })
    try {
      settings.onError(error)
    } catch {
      // The caller's own handler threw.
    }
  }

  const recorder: Recorder = {
    path: settings.path,
    get dropped() {
      return writer.dropped
    },
    follow: (source) => follow(source as unknown as Sender),
    flush: () => writer.flush(),
    close() {
      closed ??= close()
      return closed
    },
    [Symbol.asyncDispose]: () => recorder.close(),
  }
  return recorder
}

function text(line: RecordingLine): string {
  return JSON.stringify(line)
}

function opened(open: (path: string) => AppendFile, path: string): AppendFile {
  try {
    return open(path)
  } catch (cause) {
    throw new TxlaneError(`Invalid path: the recording cannot be written to ${JSON.stringify(path)}.`, {
      code: 'INVALID',
      fate: 'notExecuted',
      cause,
      details: describeError(cause).message,
      metaMessages: ['Argument: path'],
    })
  }
}

/** The options of `recordTo`. */
export type RecordToOptions = {
  /** Maximum milliseconds that an event waits before it is written. @default 250 */
  flushIntervalMs?: number | undefined
  /**
   * Maximum number of bytes that wait for the disk. Further events are dropped and counted, and the count is
   * written. @default 4_194_304
   */
  bufferBytesMax?: number | undefined
  /**
   * When the file has this many bytes it is renamed to `path.1`, replacing the former one, and a new file is
   * started. So the disk holds at most twice as much. An event takes about 250 bytes. @default 536_870_912
   */
  rotateBytes?: number | undefined
  /** Called once, when the file cannot be written any more. @default a process warning */
  onError?: ((error: TxlaneError) => void) | undefined
}

type Settings = { readonly path: string } & {
  readonly [name in keyof RecordToOptions]-?: Exclude<RecordToOptions[name], undefined>
}

const FLUSH_INTERVAL_MS = 250
const BUFFER_BYTES_MAX = 4 * 1024 * 1024
const ROTATE_BYTES = 512 * 1024 * 1024
const NAMES = {
  flushIntervalMs: true,
  bufferBytesMax: true,
  rotateBytes: true,
  onError: true,
} satisfies Names<RecordToOptions>
const TIMER_MS_MAX = 2 ** 31 - 1

/** @throws `INVALID` naming the option */
export function settingsOf(path: unknown, options: RecordToOptions = {}): Settings {
  if (typeof path !== 'string' || path === '' || path.includes('\0') || /^[a-z]+:\/\//i.test(path))
    throw invalid('path', path, 'the path of a file')
  checkNames('options', options, NAMES)
  const { flushIntervalMs = FLUSH_INTERVAL_MS, bufferBytesMax = BUFFER_BYTES_MAX } = options
  const { rotateBytes = ROTATE_BYTES, onError = warn } = options
  if (!(flushIntervalMs >= 0 && flushIntervalMs <= TIMER_MS_MAX))
    throw invalid('flushIntervalMs', flushIntervalMs, `milliseconds from 0 to ${TIMER_MS_MAX}`)
  if (!(bufferBytesMax >= 1_024))
    throw invalid('bufferBytesMax', bufferBytesMax, 'a number of bytes from 1024 on')
  if (!(rotateBytes >= 1_024)) throw invalid('rotateBytes', rotateBytes, 'a number of bytes from 1024 on')
  if (typeof onError !== 'function') throw invalid('onError', onError, 'a function')
  return { path: resolve(path), flushIntervalMs, bufferBytesMax, rotateBytes, onError }
}

function warn(error: TxlaneError): void {
  process.emitWarning(error.message, 'TxlaneRecorderWarning')
}

/**
 * The senders of a pool, or the given sender.
 *
 * @throws `INVALID`
 */
function sendersOf(source: unknown): readonly Sender[] {
  const { senders } = (source ?? {}) as { senders?: unknown }
  const all = Array.isArray(senders) ? (senders as unknown[]) : [source]
  for (const sender of all) {
    if (typeof (sender as { on?: unknown } | null | undefined)?.on !== 'function')
      throw invalid('sender', sender, 'a sender or a pool')
  }
  return all as Sender[]
}
