import { close, closeSync, fstatSync, open, openSync, readSync, rename, write } from 'node:fs'
import { promisify } from 'node:util'

/** A file that is only appended to. The one place that touches the disk, so that a test can have it fail. */
export type AppendFile = {
  /** Bytes in it now. */
  readonly size: number
  /** It does not end with a line break: somebody was cut off in the middle of a line. */
  readonly torn: boolean
  /** Resolves once all of it was handed to the system. */
  append(text: string): Promise<void>
  /** Moves what there is aside, in place of what was moved aside before, and goes on in an empty file. */
  rotate(): Promise<void>
  close(): Promise<void>
}

// Readable by its owner only: it says who sends what to whom, and when.
const MODE = 0o600
const LINE_BREAK = 10

const [writeAsync, closeAsync, openAsync, renameAsync] = [
  promisify(write),
  promisify(close),
  promisify(open),
  promisify(rename),
]

/** @throws what `openSync` throws */
export function openAppendFile(path: string): AppendFile {
  // `a+`, since the last byte is read.
  let descriptor = openSync(path, 'a+', MODE)
  let { size, torn } = lookAt(descriptor)

  async function append(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    for (let written = 0; written < bytes.length; ) {
      // A full disk takes a part first, and refuses the rest with the next call.
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
    // A pipe or a device has no size to speak of, and nothing in it to read.
    if (!stat.isFile() || stat.size === 0) return { size: 0, torn: false }
    const last = Buffer.alloc(1)
    readSync(descriptor, last, 0, 1, stat.size - 1)
    return { size: stat.size, torn: last[0] !== LINE_BREAK }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}
