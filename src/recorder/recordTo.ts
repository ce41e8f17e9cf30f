import type { Chain } from 'viem'
import { systemClock } from '../platform/clock.js'
import type { Sender } from '../types/index.js'
import { type RecordToOptions, settingsOf } from './options.js'
import { createRecorderIn } from './recorder.js'

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
