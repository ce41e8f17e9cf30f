import type { Chain } from 'viem'
import { systemClock } from '../platform/clock.js'
import type { Sender } from '../types/index.js'
import { type RecordToOptions, settingsOf } from './options.js'
import { createRecorderIn } from './recorder.js'

/** Writes what senders tell into a file. */
export interface Recorder extends AsyncDisposable {
  /** Where it writes, absolute. */
  readonly path: string
  /** Lines that are not in the file: the buffer was full, or the file could not be written. */
  readonly dropped: number
  /**
   * Writes every event of this sender, or of each sender of this pool, from now on. Several may be followed, at any
   * time; one that is followed already is written once. Two senders of one lane tell the same events: follow one.
   * @returns takes it back; calling it again does nothing
   */
  follow<chain extends Chain>(source: Sender<chain>): () => void
  /** Resolves once what was heard so far is written. Never rejects. */
  flush(): Promise<void>
  /** Follows nobody any more, writes what is left and closes the file. Never rejects. Calling it again does nothing. */
  close(): Promise<void>
}

/**
 * Records what senders and pools do: each event as one line of JSON, for `txlane report`, or for tools of your own. The
 * lines are described in docs/recorder.md; they hold ids, nonces, hashes, fees and times, and no calldata, no values, no
 * keys, and of URLs the origin alone.
 *
 * The file is made readable by its owner only, and appended to where it exists: it may hold several lives of a process.
 * Give each process a file of its own.
 *
 * Sending is never held up. Events wait in a bounded buffer for the disk; those that find no room are dropped, and their
 * number is written. Where the file cannot be written any more, the recording stops, and `onError` is told once.
 *
 * Not guaranteed: that an event is on the disk when it is told, or after the machine loses power. A process that is killed
 * loses the last `flushIntervalMs`. Events from before `follow` are not known.
 *
 * @throws TxlaneError `INVALID` at once where the file cannot be opened, or an option cannot work
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
