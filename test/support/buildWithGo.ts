import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const BUILD_TIMEOUT_MS = 1_200_000
const run = promisify(execFile)

/**
 * Builds a Go program into the folder of `file`, and replaces that folder.
 * @param module with its version: `example.com/cmd/program@v1.2.3`
 * @throws Error with the output of `go`, or saying that Go is not installed
 */
export async function buildWithGo(what: string, module: string, file: string): Promise<string> {
  const parent = dirname(dirname(file))
  await mkdir(parent, { recursive: true })
  // Renamed only when complete, because another process may look for the file meanwhile.
  const folder = await mkdtemp(join(parent, 'build-'))
  try {
    const env = { ...process.env, GOBIN: folder, GOFLAGS: '-mod=mod' }
    await run('go', ['install', module], { cwd: folder, env, timeout: BUILD_TIMEOUT_MS }).catch(
      (error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? new Error(`There is no ${what}, and no Go to build it with.`) : error
      },
    )
    await rm(dirname(file), { recursive: true, force: true })
    await rename(folder, dirname(file))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return file
}
