import { open, rename, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { REPORT_MARK } from './html.js'

export function nameOf(path: string): string {
  return basename(path)
}

// The mark stands near the top of a page.
const HEAD_BYTES = 512

/** @throws Error if the file exists, is not a report, and `force` is not given. */
export async function checkWritable({
  out,
  force,
}: {
  readonly out: string
  readonly force: boolean
}): Promise<void> {
  if (force) return
  const head = await headOf(out)
  if (head !== undefined && !head.includes(REPORT_MARK))
    throw new Error(`${out} exists and is not a report: --force overwrites it.`)
}

/** The first bytes of a file; undefined if it does not exist. */
async function headOf(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Writes the page atomically. Only the owner can read it, like the recording. */
export async function writeReport(out: string, page: string): Promise<void> {
  const half = `${out}.${process.pid}.part`
  try {
    await writeFile(half, page, { mode: 0o600 })
    await rename(half, out)
  } catch (error) {
    await rm(half, { force: true })
    throw error
  }
}
