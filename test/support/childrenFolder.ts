import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE } from './bundleChild.js'

/** For the whole run: workers are killed when it is over, and what they have bundled must not stay behind. */
export default async function childrenFolder(): Promise<() => Promise<void>> {
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(join(CACHE, 'txlane-children-'))
  process.env.TXLANE_CHILDREN = folder
  return () => rm(folder, { recursive: true, force: true })
}
