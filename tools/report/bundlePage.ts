import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import { PAGE_SCRIPT, pageBuild } from './pageBuild.js'

/** Bundles the page's script from source, for a run from a checkout. */
export async function bundlePage(): Promise<string> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'txlane-page-'))
  try {
    await build({ ...pageBuild(root), config: false, outDir: folder, silent: true })
    return readFileSync(join(folder, 'cli', PAGE_SCRIPT), 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
