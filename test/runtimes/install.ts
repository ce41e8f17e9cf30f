import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { nodesFolder } from '../nodes/find/nodesFolder.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PROGRAMS = fileURLToPath(new URL('./programs/', import.meta.url))
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
const INSTALL_TIMEOUT_MS = 600_000
const run = promisify(execFile)
const { platform, arch } = process

export type RuntimeName = 'bun' | 'deno' | 'workerd'

type Pin = {
  readonly version: string
  /** Paths below `node_modules` at which npm puts the program; platforms of one system differ. */
  readonly binaries: readonly string[]
}

const exe = platform === 'win32' ? '.exe' : ''
const bunArch = arch === 'arm64' ? 'aarch64' : arch
const workerdArch = arch === 'x64' ? '64' : arch

export const runtimes: Readonly<Record<RuntimeName, Pin>> = {
  bun: {
    version: '1.4.5',
    binaries: [`@oven/bun-${platform === 'win32' ? 'windows' : platform}-${bunArch}/bin/bun${exe}`],
  },
  deno: {
    version: '2.9.6',
    binaries: [`@deno/${platform}-${arch}-glibc/deno`, `@deno/${platform}-${arch}/deno${exe}`],
  },
  workerd: {
    version: '1.20261117.1',
    binaries: [
      `@cloudflare/workerd-${platform === 'win32' ? 'windows' : platform}-${workerdArch}/bin/workerd${exe}`,
    ],
  },
}

/**
 * The program of a runtime, installed from npm into a cache folder if this version is not there yet. The packages ship
 * their binaries, so no install script runs.
 * @throws Error with the message of `npm`, or if the package has no program for this machine
 */
export async function installRuntime(name: RuntimeName): Promise<string> {
  const { version, binaries } = runtimes[name]
  const folder = join(runtimesFolder(), `${name}-${version}`)
  const find = () => binaries.map((path) => join(folder, 'node_modules', path)).find(existsSync)
  const known = find()
  if (known !== undefined) return known
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  await run('npm', [...INSTALL, `${name}@${version}`], { cwd: folder, timeout: INSTALL_TIMEOUT_MS })
  const installed = find()
  if (installed === undefined) throw new Error(`npm has no ${name} for ${platform} ${arch}`)
  return installed
}

/**
 * A folder with the programs of this test and the packed package, installed with npm beside viem.
 * @throws Error if the package is not built, or with the message of `npm`
 */
export async function installPackage(): Promise<string> {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('there is no build: run `npm run build`')
  const folder = await mkdtemp(join(tmpdir(), 'txlane-runtimes-'))
  const packed = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: ROOT,
  })
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    devDependencies: Readonly<Record<'viem', string>>
  }
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  await run('npm', [...INSTALL, '--omit=optional', `./${filename}`, `viem@${devDependencies.viem}`], {
    cwd: folder,
    timeout: INSTALL_TIMEOUT_MS,
  })
  await cp(PROGRAMS, folder, { recursive: true })
  return folder
}

/** Cache folder of the runtimes: outside `node_modules`, which `npm ci` deletes, because they have 300 MB. */
function runtimesFolder(env?: NodeJS.ProcessEnv, platform?: NodeJS.Platform): string {
  return join(nodesFolder(env, platform), '..', 'txlane-runtimes')
}
