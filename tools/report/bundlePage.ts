import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import { pageBuild } from './pageBuild.js'

/** Bundles the script of a page from source, for a run from a checkout. */
export async function bundlePage(name: string): Promise<string> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'txlane-page-'))
  try {
    const { entry, ...options } = pageBuild(root)
    const own = Object.entries(entry as Record<string, string>).filter(
      ([to]) => name === `${basename(to)}.global.js`,
    )
    await build({ ...options, entry: Object.fromEntries(own), config: false, outDir: folder, silent: true })
    return readFileSync(join(folder, 'cli', name), 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
