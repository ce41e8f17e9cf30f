import { close, closeSync, fstatSync, open, openSync, readSync, rename, write } from 'node:fs'
import { promisify } from 'node:util'

/** An append-only file. The only code that touches the disk, so that a test can make it fail. */
export type AppendFile = {
  /** Its size in bytes. */
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
