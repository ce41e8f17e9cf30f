import { realpathSync, statSync } from 'node:fs'

/** Whether the files of an open database are still those at its path. */
export type FileInPlace = () => boolean

type Identity = { readonly dev: bigint; readonly ino: bigint; readonly size: bigint }

/**
 * Remembers the files of a database that is open, to notice that they were deleted, moved or replaced. An open file
 * keeps its inode, so that no other file gets the same number meanwhile. SQLite goes on writing to a file that has no
 * name any more, while the next process that opens the path makes, and leads on, a new one
 * (https://www.sqlite.org/howtocorrupt.html, 2.4). The same goes for the write-ahead log and its index, whose locks are
 * those of the database; they stand beside the file that a link at the path leads to.
 *
 * Windows refuses to delete or rename the files while SQLite has them open. A file system that numbers no files (FAT
 * there, some network ones) gives 0: then only a file that is missing is noticed.
 */
export function fileInPlace(path: string): FileInPlace {
  const beside = realOf(path)
  const files = [path, `${beside}-wal`, `${beside}-shm`]
  const opened = files.map(identityOf)
  return () => files.every((file, index) => isSame(opened[index], identityOf(file)))
}

/** The file at a path, as far as the system tells one from another; undefined where there is none. */
export function identityOf(path: string): Identity | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    // A folder that cannot be looked into, or is none any more.
    return undefined
  }
}

export function isSame(opened: Identity | undefined, now: Identity | undefined): boolean {
  // A log that SQLite did not make: there is nothing to compare.
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
