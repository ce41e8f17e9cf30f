import type { CancelTimer, Clock } from '../platform/clock.js'
import type { AppendFile } from './file.js'

/** Lines on their way into a file. Taking one never waits and never throws. */
export type LineWriter = {
  /** Takes a line without its line break, or drops it where there is no room. */
  write(line: string): void
  /** A line that could not be made is missing like one that found no room. */
  drop(): void
  /** Resolves once everything taken so far is in the file, or nothing more will be. */
  flush(): Promise<void>
  /** Flushes, and closes the file. */
  close(): Promise<void>
  readonly dropped: number
}

export type LineWriterOptions = {
  readonly file: AppendFile
  readonly clock: Clock
  readonly flushIntervalMs: number
  readonly bufferBytesMax: number
  readonly rotateBytes: number
  /** The first lines of a file that is gone on in. */
  readonly opening: () => readonly string[]
  /** The line that says how many are missing. */
  readonly missing: (count: number) => string
  /** The file cannot be written any more. Called once; nothing is written after it. */
  readonly failed: (error: unknown) => void
}

// As much in one write as is quick to hand over, without waiting for the interval.
const CHUNK_BYTES = 65_536

export function createLineWriter(options: LineWriterOptions): LineWriter {
  const { file, clock, bufferBytesMax } = options
  let waiting: string[] = []
  let waitingBytes = 0
  let writingBytes = 0
  let writingLines = 0
  let dropped = 0
  let untold = 0
  let stopped = false
  let timer: CancelTimer | undefined
  let writing: Promise<void> | undefined

  function write(line: string): void {
    if (stopped) return count()
    const bytes = Buffer.byteLength(line) + 1
    if (waitingBytes + writingBytes + bytes > bufferBytesMax) return count()
    tellMissing()
    take(line, bytes)
    if (waitingBytes >= CHUNK_BYTES) start()
    // Set while something waits only. It keeps the process alive: what waits is unfinished work.
    else timer ??= clock.setTimer(start, options.flushIntervalMs)
  }

  function take(line: string, bytes: number): void {
    waiting.push(line)
    waitingBytes += bytes
  }

  function count(): void {
    dropped++
    untold++
  }

  function tellMissing(): void {
    if (untold === 0) return
    const line = options.missing(untold)
    untold = 0
    take(line, Buffer.byteLength(line) + 1)
  }

  function start(): void {
    timer?.()
    timer = undefined
    writing ??= writeAll().finally(() => {
      writing = undefined
      // Taken between the last look at what waits and here.
      if (waiting.length > 0) start()
    })
  }

  async function writeAll(): Promise<void> {
    try {
      while (waiting.length > 0 && !stopped) await writeChunk()
    } catch (error) {
      stopped = true
      dropped += waiting.length + writingLines
      waiting = []
      waitingBytes = 0
      options.failed(error)
    } finally {
      writingBytes = 0
    }
  }

  async function writeChunk(): Promise<void> {
    const text = `${waiting.join('\n')}\n`
    writingBytes = waitingBytes
    writingLines = waiting.length
    waiting = []
    waitingBytes = 0
    await file.append(text)
    writingBytes = 0
    writingLines = 0
    if (file.size < options.rotateBytes) return
    await file.rotate()
    await file.append(`${options.opening().join('\n')}\n`)
  }

  async function flush(): Promise<void> {
    // A write that is under way took what there was when it began.
    await writing
    if (waiting.length > 0) start()
    await writing
  }

  let closing: Promise<void> | undefined
  async function close(): Promise<void> {
    if (!stopped) tellMissing()
    await flush()
    stopped = true
    timer?.()
    await file.close().catch(() => {})
  }

  return {
    write,
    drop: count,
    flush,
    close: () => {
      closing ??= close()
      return closing
    },
    get dropped() {
      return dropped
    },
  }
}
