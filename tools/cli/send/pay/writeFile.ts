import { open, rename, rm } from 'node:fs/promises'

const CHUNK_CHARS = 65_536

/**
 * Replaces a file atomically, and syncs it to disk. Only its owner can read it. The lines are written in chunks,
 * because a file of 200,000 payments has no room in one string.
 */
export async function replaceFile(path: string, lines: Iterable<string>): Promise<void> {
  const part = `${path}.part`
  try {
    await write(part, lines)
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true }).catch(() => {})
    throw new Error(`${path} cannot be written: ${whyUnwritten(error)}.`)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EROFS: 'its folder can only be read',
  EACCES: 'its folder does not allow it',
  EPERM: 'its folder does not allow it',
}

/** Words for the usual errors of a file system. */
export function whyUnwritten(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return REASONS[code ?? ''] ?? message
}

async function write(part: string, lines: Iterable<string>): Promise<void> {
  const file = await open(part, 'w', 0o600)
  try {
    let chunk = ''
    for (const line of lines) {
      chunk += `${line}\n`
      if (chunk.length < CHUNK_CHARS) continue
      await file.write(chunk)
      chunk = ''
    }
    await file.write(chunk)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A JSON object whose last member is an array, with one element in a line. */
export function* jsonLines(head: object, name: string, elements: Iterable<unknown>): Generator<string> {
  yield `${JSON.stringify(head, undefined, 1).replace(/\n?\}$/, '')},`
  yield ` "${name}": [`
  let before: string | undefined
  for (const element of elements) {
    if (before !== undefined) yield `${before},`
    before = `  ${JSON.stringify(element)}`
  }
  if (before !== undefined) yield before
  yield ' ]'
  yield '}'
}
