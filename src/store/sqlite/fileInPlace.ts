import { realpathSync, statSync } from 'node:fs'

/** Returns true if the files of an open database are still those at its path. */
export type FileInPlace = () => boolean

type Identity = { readonly dev: bigint; readonly ino: bigint; readonly size: bigint }

/**
 * Remembers the files of an open database, to detect that they were deleted, moved or replaced. An open file
 * keeps its inode, so that no other file gets the same number meanwhile. SQLite continues to write to a file
 * that has no name any more, while the next process that opens the path creates a new one and leads on it
 * (https://www.sqlite.org/howtocorrupt.html, 2.4). The same applies to the write-ahead log and its index,
 * whose locks belong to the database; they are beside the file that a link at the path leads to.
 *
 * Windows refuses to delete or rename the files while SQLite has them open. A file system without file
 * numbers (FAT there, some network ones) reports 0: then only a missing file is detected.
 */
export function fileInPlace(path: string): FileInPlace {
  const beside = realOf(path)
  const files = [path, `${beside}-wal`, `${beside}-shm`]
  const opened = files.map(identityOf)
  return () => files.every((file, index) => isSame(opened[index], identityOf(file)))
}

/**
 * The identity of the file at a path, as far as the system distinguishes files; undefined if there is none.
 */
export function identityOf(path: string): Identity | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    // The folder cannot be read, or no longer exists.
    return undefined
  }
}

export function isSame(opened: Identity | undefined, now: Identity | undefined): boolean {
  // SQLite has not created the log yet, so there is nothing to compare.
  if (opened === undefined) return true
  if (now === undefined) return false
  return opened.ino === 0n || (opened.ino === now.ino && opened.dev === now.dev)
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
