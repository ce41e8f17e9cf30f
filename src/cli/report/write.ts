import { open, rename, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { REPORT_MARK } from './html.js'

export function nameOf(path: string): string {
  return basename(path)
}

// The mark stands near the top of a page.
const HEAD_BYTES = 512

/** @throws Error where something else than a report stands there, and `force` is not given. */
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
    throw new Error(`${out} is there already and is not a report: --force writes over it.`)
}

/** The beginning of a file; undefined where there is none. */
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

/** Whole or not at all. Readable by its owner only, as the recording is. */
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
