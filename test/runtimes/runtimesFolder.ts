import { join } from 'node:path'
import { nodesFolder } from '../nodes/find/nodesFolder.js'

/** Cache folder of the runtimes: outside `node_modules`, which `npm ci` deletes, because they have 300 MB. */
export function runtimesFolder(env?: NodeJS.ProcessEnv, platform?: NodeJS.Platform): string {
  return join(nodesFolder(env, platform), '..', 'txlane-runtimes')
}
