import { rm } from 'node:fs/promises'
import type { TestProject } from 'vitest/node'
import { cacheFolder } from '../../scripts/bundle.mjs'
import { bundleAll } from './bundleChild.js'

/** Programs that tests start as child processes, by their paths from the root. */
const PROGRAMS = [
  'examples/market-maker/bot.ts',
  'examples/payout/payout.ts',
  'examples/prometheus/main.ts',
  'examples/relayer/server.ts',
  'tools/cli/main.ts',
  'test/cluster/child/main.ts',
  'test/contract/postgresStarter.ts',
  'test/contract/sqliteWorker.ts',
  'test/crash/child/main.ts',
  'test/demo/main.ts',
  'test/integration/devnetParent.ts',
  'test/integration/recoveryDiskWorker.ts',
  'test/sweep/counter/child.ts',
]

/**
 * Bundles all programs together, once for the whole run, so that shared dependencies, mostly viem, are read
 * and written a single time.
 */
export default async function childrenFolder(project: TestProject): Promise<() => Promise<void>> {
  const folder = cacheFolder('txlane-children-')
  process.env.TXLANE_CHILDREN = folder
  await bundleAll(PROGRAMS, folder)
  project.onTestsRerun(() => bundleAll(PROGRAMS, folder))
  return () => rm(folder, { recursive: true, force: true })
}
