import { close, closeSync, fstatSync, open, openSync, readSync, rename, write } from 'node:fs'
import { promisify } from 'node:util'
import type { CancelTimer, Clock } from '../platform/clock.js'

/** Writes lines into a file. Accepting a line never waits and never throws. */
type LineWriter = {
  /** Accepts a line without its line break, or drops it if there is no room. */
  write(line: string): void
  /** Counts a line that could not be made as dropped. */
  drop(): void
  /** Resolves once all lines accepted so far are in the file, or no more can be written. */
  flush(): Promise<void>
  /** Flushes, and closes the file. */
  close(): Promise<void>
  readonly dropped: number
}

type LineWriterOptions = {
  readonly file: AppendFile
  readonly clock: Clock
  readonly flushIntervalMs: number
  readonly bufferBytesMax: number
  readonly rotateBytes: number
  /** The first lines of each file after a rotation. */
  readonly opening: () => readonly string[]
  /** The line that reports the number of missing lines. */
  readonly missing: (count: number) => string
  /** Called once, when the file cannot be written any more. No line is written after that. */
  readonly failed: (error: unknown) => void
}

// The size of one write. With this many bytes waiting, it starts without waiting for the interval.
const CHUNK_BYTES = 65_536

export function createLineWriter(options: LineWriterOptions): LineWriter {
  const { file, clock, bufferBytesMax } = options
  let waiting: string[] = []
  let waitingBytes = 0
  let writingBytes = 0
  let writingLines = 0
  let dropped = 0
  let unreported = 0
  let stopped = false
  let timer: CancelTimer | undefined
  let writing: Promise<void> | undefined

  function write(line: string): void {
    if (stopped) return count()
    const bytes = Buffer.byteLength(line) + 1
    if (waitingBytes + writingBytes + bytes > bufferBytesMax) return count()
    reportMissing()
    take(line, bytes)
    if (waitingBytes >= CHUNK_BYTES) start()
    // Set only while lines are waiting. It keeps the process alive, because they are unfinished work.
    else timer ??= clock.setTimer(start, options.flushIntervalMs)
  }

  function take(line: string, bytes: number): void {
    waiting.push(line)
    waitingBytes += bytes
  }

  function count(): void {
    dropped++
    unreported++
  }

  function reportMissing(): void {
    if (unreported === 0) return
    const line = options.missing(unreported)
    unreported = 0
    take(line, Buffer.byteLength(line) + 1)
  }

  function start(): void {
    timer?.()
    timer = undefined
    writing ??= writeAll().finally(() => {
      writing = undefined
      // Lines may have arrived since the last check.
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
    // A running write covers only the lines that were there when it started.
    await writing
    if (waiting.length > 0) start()
    await writing
  }

  let closing: Promise<void> | undefined
  async function close(): Promise<void> {
    if (!stopped) reportMissing()
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

/** An append-only file. The only code that touches the disk, so that a test can make it fail. */
export type AppendFile = {
  /** The size of the file in bytes. */
  readonly size: number
  /** True if it does not end with a line break, because a process was killed in the middle of a line. */
  readonly torn: boolean
  /** Resolves once the whole text was handed to the operating system. */
  append(text: string): Promise<void>
  /** Renames the file, replacing the one renamed before, and continues in an empty file. */
  rotate(): Promise<void>
  close(): Promise<void>
}

// Readable only by its owner, because it shows the senders, recipients and times of transactions.
const MODE = 0o600
const LINE_BREAK = 10

const [writeAsync, closeAsync, openAsync, renameAsync] = [
  promisify(write),
  promisify(close),
  promisify(open),
  promisify(rename),
]

/** @throws the errors of `openSync` */
export function openAppendFile(path: string): AppendFile {
  // `a+`, because the last byte is read.
  let descriptor = openSync(path, 'a+', MODE)
  let { size, torn } = lookAt(descriptor)

  async function append(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    for (let written = 0; written < bytes.length; ) {
      // A full disk accepts a part first, and refuses the rest with the next call.
      const { bytesWritten } = await writeAsync(descriptor, bytes, written, bytes.length - written, null)
      written += bytesWritten
      size += bytesWritten
    }
  }

  async function rotate(): Promise<void> {
    await renameAsync(path, `${path}.1`)
    const next = await openAsync(path, 'a+', MODE)
    const former = descriptor
    descriptor = next
    size = 0
    torn = false
    await closeAsync(former)
  }

  return {
    get size() {
      return size
    },
    get torn() {
      return torn
    },
    append,
    rotate,
    close: () => closeAsync(descriptor),
  }
}

function lookAt(descriptor: number): { size: number; torn: boolean } {
  try {
    const stat = fstatSync(descriptor)
    // A pipe or a device has no useful size, and nothing to read.
    if (!stat.isFile() || stat.size === 0) return { size: 0, torn: false }
    const last = Buffer.alloc(1)
    readSync(descriptor, last, 0, 1, stat.size - 1)
    return { size: stat.size, torn: last[0] !== LINE_BREAK }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}
