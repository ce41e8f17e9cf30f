import { rm } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle, cacheFolder } from '../../scripts/bundle.mjs'

/**
 * Loads one of our modules, with its imports from this repository, as the plain JavaScript that ships. It is
 * for tests that compute for a minute: in the test runner each use of an import goes through a getter, and
 * everyError.ts keeps every error. everyError.ts does not see errors of bundled code, so bundle only code
 * that knows no URL.
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
