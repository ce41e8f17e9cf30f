import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build, type Options } from 'tsup'
import config from '../../tsup.config.js'

const run = promisify(execFile)

// No program listens there.
const OFFLINE = ['--registry', 'http://127.0.0.1:9', '--fetch-retries', '0']
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export type Manifest = {
  readonly bin: Readonly<Record<'txlane', string>>
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

/** The package as npm would publish it, installed beside its dependencies in a temporary folder. */
export type Packed = {
  readonly manifest: Manifest
  /** The paths in the tarball, from the package's root. */
  readonly files: readonly string[]
  readonly read: (file: string) => Promise<string>
  /** Runs a script of that name in the consumer's folder and returns its output. */
  node(name: string, script: string): Promise<{ stdout: string; stderr: string }>
  /** The output of `npm publish --dry-run`, with a registry that does not answer. */
  publishDryRun(): Promise<{ stdout: string; stderr: string }>
  remove(): Promise<void>
}

/** Builds (without declarations, which are checked after the real build), packs and installs, all offline. */
export async function packAndInstall(): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), 'txlane-package-'))
  const staging = join(folder, 'staging')
  await mkdir(staging)
  for (const file of ['package.json', 'README.md', 'LICENSE']) await cp(join(ROOT, file), join(staging, file))
  for (const options of [config as Options | Options[]].flat().filter(({ dts }) => dts === undefined)) {
    await build({ ...options, config: false, outDir: join(staging, 'dist'), silent: true })
  }
  const packed = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: staging,
  })
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: { path: string }[] }]
  const manifest = JSON.parse(await readFile(join(staging, 'package.json'), 'utf8')) as Manifest

  const consumer = join(folder, 'consumer')
  const installed = join(consumer, 'node_modules/txlane')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1'])
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
    const link = join(consumer, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), link)
  }

  return {
    manifest,
    files: files.map(({ path }) => path),
    read: (file) => readFile(join(installed, file), 'utf8'),
    async node(name, script) {
      const file = join(consumer, name)
      await writeFile(file, script)
      // Runs in another working directory, so that nothing is resolved through it.
      return await run(process.execPath, [file], { cwd: folder, timeout: 60_000 })
    },
    publishDryRun: () =>
      run('npm', ['publish', '--dry-run', '--json', '--ignore-scripts', ...OFFLINE], { cwd: staging }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
