import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { nodesFolder } from './nodesFolder.js'

const PINNED = { hardhat: '2.29.0', ganache: '7.9.2' } as const
const INSTALL_TIMEOUT_MS = 600_000
const run = promisify(execFile)

/**
 * The script of a node from npm, and the folder to start it in. It is installed there if it is missing,
 * because none of these nodes is a dependency of the package.
 * @throws Error with the output of `npm`
 */
export async function nodeFromNpm(
  name: keyof typeof PINNED,
  says: (line: string) => void,
): Promise<{ script: string; cwd: string }> {
  const cwd = join(nodesFolder(), 'npm')
  if ((await installed(cwd, name)) !== PINNED[name]) {
    says(`     npm installs Hardhat ${PINNED.hardhat} and Ganache ${PINNED.ganache} into ${cwd}`)
    await install(cwd)
  }
  // `hardhat node` needs a project; this one compiles nothing.
  await writeFile(join(cwd, 'hardhat.config.js'), "module.exports = { solidity: '0.8.28' }\n")
  return { script: join(cwd, 'node_modules', '.bin', name), cwd }
}

async function installed(cwd: string, name: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(cwd, 'node_modules', name, 'package.json'), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return undefined
  }
}

/** Installs both together, because installing one alone would remove the other. */
async function install(cwd: string): Promise<void> {
  await mkdir(cwd, { recursive: true })
  await writeFile(join(cwd, 'package.json'), '{ "private": true }\n')
  const packages = Object.entries(PINNED).map(([name, version]) => `${name}@${version}`)
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--prefix', cwd]
  await run('npm', [...args, ...packages], { cwd, timeout: INSTALL_TIMEOUT_MS })
}
