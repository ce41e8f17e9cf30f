import { rm } from 'node:fs/promises'
import { cacheFolder } from '../../scripts/bundle.mjs'

/** For the whole run: workers are killed when it is over, and what they have bundled must not stay behind. */
export default function childrenFolder(): () => Promise<void> {
  const folder = cacheFolder('txlane-children-')
  process.env.TXLANE_CHILDREN = folder
  return () => rm(folder, { recursive: true, force: true })
}
