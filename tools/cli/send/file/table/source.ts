import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'

/** The bytes of a file. Each pass reads them again, because memory cannot hold a large file in addition to its rows. */
export type Source = {
  /** Each chunk is valid until the next one. */
  chunks(): Iterable<Uint8Array>
  whole(): Uint8Array
}

const CHUNK_BYTES = 65_536

/** @throws Error if there is no such file. A pipe can be read once only, and is kept in memory. */
export function fileSource(path: string): Source {
  if (!statSync(path).isFile()) return bytesSource(readFileSync(path))
  return { chunks: () => chunksOf(path), whole: () => readFileSync(path) }
}

function* chunksOf(path: string): Generator<Uint8Array> {
  const file = openSync(path, 'r')
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    for (;;) {
      const bytes = readSync(file, chunk)
      if (bytes === 0) return
      yield chunk.subarray(0, bytes)
    }
  } finally {
    closeSync(file)
  }
}

export function bytesSource(bytes: Uint8Array): Source {
  return {
    *chunks() {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
    },
    whole: () => bytes,
  }
}

/** The first bytes. */
export function startOf(source: Source): Uint8Array {
  for (const chunk of source.chunks()) return chunk
  return new Uint8Array()
}
