import { resolve } from 'node:path'
import type { TxlaneError } from '../errors/base.js'
import { checkNames, type Names } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import type { Sender } from '../types/index.js'

/** How `recordTo` writes. */
export type RecordToOptions = {
  /** Milliseconds that an event waits at most before it is written. @default 250 */
  flushIntervalMs?: number | undefined
  /**
   * Bytes that may wait for the disk. Events beyond that are dropped, counted, and their number is written.
   * @default 4_194_304
   */
  bufferBytesMax?: number | undefined
  /**
   * When the file has so many bytes it is renamed to `path.1`, in place of the former one, and a new one is begun: the
   * disk holds twice as much at most. About 250 bytes an event. @default 536_870_912
   */
  rotateBytes?: number | undefined
  /** Called once, when the file cannot be written any more. @default a warning of the process */
  onError?: ((error: TxlaneError) => void) | undefined
}

export type Settings = { readonly path: string } & {
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

/** The senders of a pool, or the one that it is. @throws `INVALID` */
export function sendersOf(source: unknown): readonly Sender[] {
  const { senders } = (source ?? {}) as { senders?: unknown }
  const all = Array.isArray(senders) ? (senders as unknown[]) : [source]
  for (const sender of all) {
    if (typeof (sender as { on?: unknown } | null | undefined)?.on !== 'function')
      throw invalid('sender', sender, 'a sender or a pool')
  }
  return all as Sender[]
}
