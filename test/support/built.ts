import { rm } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle, cacheFolder } from '../../scripts/bundle.mjs'

/**
 * A module of ours, with all that it imports from here, as the plain JavaScript that ships: for tests that compute for
 * a minute. Through the test runner each use of an import goes through a getter, and each error is kept for
 * everyError.ts, which sees none of what is bundled: it is for what knows no URL.
 */
export async function built<Module>(entry: URL): Promise<Module> {
  const folder = cacheFolder('txlane-built-')
  try {
    await bundle({ main: fileURLToPath(entry) }, folder, { packages: 'external', splitting: false })
    return (await import(pathToFileURL(`${folder}/main.mjs`).href)) as Module
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
