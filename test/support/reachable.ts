import { chmod, copyFile, link, lstat, mkdir, readdir, readlink, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** True if every user may read the folder, which requires that each folder above it grants access. */
export async function isReachable(folder: string): Promise<boolean> {
  const { mode } = await stat(folder)
  const above = dirname(folder)
  return (mode & 0o001) !== 0 && (above === folder || isReachable(above))
}

/** Links the folder's files at another place, which takes no space if both are on one disk. */
export async function linkFolder(from: string, to: string): Promise<void> {
  await mkdir(to)
  // Sets the mode explicitly, because the umask may restrict it.
  await chmod(to, 0o755)
  for (const name of await readdir(from)) {
    const [source, target] = [join(from, name), join(to, name)]
    const entry = await lstat(source)
    if (entry.isDirectory()) await linkFolder(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else await link(source, target).catch(() => copyFile(source, target))
  }
}
