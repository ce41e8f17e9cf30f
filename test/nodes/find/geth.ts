import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { buildWithGo } from '../../support/buildWithGo.js'
import type { NodeCommand } from './nodeCommand.js'
import { nodesFolder } from './nodesFolder.js'

/** The message if there is none. */
export const NO_GETH =
  'there is no geth in TXLANE_GETH, on the PATH or in the cache; `npm run nodes -- --get --node geth` builds one with Go'

/** The version for which the cases were written, and the minimum: older ones make no block on demand. */
const GETH_VERSION = '1.17.10'
const MODULE = `github.com/ethereum/go-ethereum/cmd/geth@v${GETH_VERSION}`
const VERSION_TIMEOUT_MS = 20_000
const BINARY = process.platform === 'win32' ? 'geth.exe' : 'geth'
const run = promisify(execFile)

const cached = (env?: NodeJS.ProcessEnv) => join(nodesFolder(env), `geth-${GETH_VERSION}`, BINARY)

/**
 * The geth of `TXLANE_GETH`, else the first on the PATH that is new enough, else the one that was built on
 * this machine before. Never builds.
 * @throws Error if `TXLANE_GETH` names a file that is not a geth, or one that is too old
 */
export async function findGeth(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const given = env.TXLANE_GETH
  if (given) {
    if (await isUsable(given)) return given
    throw new Error(`TXLANE_GETH is ${given}, which is no geth of version ${GETH_VERSION} or newer.`)
  }
  const onPath = (env.PATH ?? '').split(delimiter).map((folder) => join(folder, BINARY))
  for (const file of [...onPath, cached(env)]) if (await isUsable(file)) return file
  return undefined
}

/**
 * `--dev` with an HTTP endpoint and nothing else: only on loopback, and without ports that another geth may
 * use.
 */
export function gethCommand(file: string, more: readonly string[] = []): NodeCommand {
  const http = ['--dev', '--http', '--http.addr', '127.0.0.1', '--ipcdisable', '--verbosity', '1']
  const quiet = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--authrpc.port', '0']
  return (port) => ({ file, args: [...http, ...quiet, '--http.port', `${port}`, ...more] })
}

/** @throws Error with the output of `go`, or saying that Go is not installed */
export async function buildGeth(says: (line: string) => void): Promise<string> {
  const file = cached()
  says(`     Go builds geth ${GETH_VERSION} into ${join(file, '..')}, which takes some minutes`)
  return buildWithGo('geth', MODULE, file)
}

async function isUsable(file: string): Promise<boolean> {
  if (!existsSync(file)) return false
  const wrote = await run(file, ['--version'], { timeout: VERSION_TIMEOUT_MS }).then(
    ({ stdout }) => stdout,
    () => '',
  )
  const version = /geth version (\d+)\.(\d+)\.(\d+)/.exec(wrote)?.slice(1).map(Number)
  return version !== undefined && !isOlder(version, GETH_VERSION.split('.').map(Number))
}

function isOlder(version: readonly number[], least: readonly number[]): boolean {
  const at = least.findIndex((part, index) => part !== version[index])
  return at !== -1 && (version[at] ?? 0) < (least[at] ?? 0)
}
