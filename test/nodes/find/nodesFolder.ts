import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * The folder of built and installed nodes. It is outside `node_modules`, which `npm ci` deletes, so that a
 * build of some minutes happens once per machine.
 */
export function nodesFolder(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  return join(cacheOf(env, platform), 'txlane-nodes')
}

function cacheOf({ XDG_CACHE_HOME, LOCALAPPDATA }: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  if (XDG_CACHE_HOME) return XDG_CACHE_HOME
  if (platform === 'win32' && LOCALAPPDATA) return LOCALAPPDATA
  return platform === 'darwin' ? join(homedir(), 'Library', 'Caches') : join(homedir(), '.cache')
}
