import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findAnvil } from '../../src/devnet/anvilPath.js'

/** How to start a node that listens at this port of loopback. */
export type NodeCommand = (port: number) => {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
}

export type NodeName = 'anvil' | 'hardhat' | 'ganache' | 'geth'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/txlane-nodes', import.meta.url))
const PINNED = { hardhat: '2.29.0', ganache: '7.9.2' } as const
const GETH = 'github.com/ethereum/go-ethereum/cmd/geth@v1.17.10'
const INSTALL_TIMEOUT_MS = 600_000
const run = promisify(execFile)

/** @throws Error saying why the node cannot be had */
export async function findNode(name: NodeName): Promise<NodeCommand> {
  if (name === 'anvil') return anvil()
  return name === 'geth' ? geth() : fromNpm(name)
}

function anvil(): NodeCommand {
  const file = findAnvil(undefined)
  return (port) => ({ file, args: ['--host', '127.0.0.1', '--port', `${port}`] })
}

async function fromNpm(name: 'hardhat' | 'ganache'): Promise<NodeCommand> {
  await mkdir(CACHE, { recursive: true })
  const bin = join(CACHE, 'node_modules', '.bin', name)
  if (!existsSync(bin)) await install()
  // `hardhat node` wants a project; this one compiles nothing.
  await writeFile(join(CACHE, 'hardhat.config.js'), "module.exports = { solidity: '0.8.28' }\n")
  const args = name === 'hardhat' ? ['node', '--hostname', '127.0.0.1'] : ['--server.host', '127.0.0.1']
  const flag = name === 'hardhat' ? '--port' : '--server.port'
  return (port) => ({
    file: process.execPath,
    args: [bin, ...args, flag, `${port}`],
    cwd: CACHE,
  })
}

/** Both at once: installing one alone would take the other away. */
async function install(): Promise<void> {
  await writeFile(join(CACHE, 'package.json'), '{ "private": true }\n')
  const packages = Object.entries(PINNED).map(([name, version]) => `${name}@${version}`)
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--prefix', CACHE]
  await run('npm', [...args, ...packages], { cwd: CACHE, timeout: INSTALL_TIMEOUT_MS })
}

async function geth(): Promise<NodeCommand> {
  const { GOBIN, PATH = '' } = process.env
  const built = join(CACHE, 'geth')
  const places = [...(GOBIN ? [GOBIN] : []), ...PATH.split(delimiter)].map((folder) => join(folder, 'geth'))
  const found = [...places, built].find((file) => existsSync(file))
  if (found === undefined) await build()
  const args = ['--dev', '--http', '--http.addr', '127.0.0.1', '--ipcdisable', '--verbosity', '1']
  // Nothing but loopback, and no port that another geth may have.
  const quiet = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--authrpc.port', '0']
  return (port) => ({ file: found ?? built, args: [...args, ...quiet, '--http.port', `${port}`] })
}

async function build(): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const env = { ...process.env, GOBIN: CACHE, GOFLAGS: '-mod=mod' }
  await run('go', ['install', GETH], { cwd: CACHE, env, timeout: INSTALL_TIMEOUT_MS })
}
