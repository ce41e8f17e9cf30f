import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { TxlaneError } from '../errors/base.js'

const BINARY = process.platform === 'win32' ? 'anvil.exe' : 'anvil'

/**
 * Finds anvil: the path given, the environment variable `ANVIL_PATH`, the npm package `@foundry-rs/anvil`, then
 * `PATH`. The package comes before `PATH`, since the version in a lock file is the one a project was tested with.
 *
 * @throws TxlaneError `UNSUPPORTED` when there is none, saying what to install.
 */
export function findAnvil(given: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  const named = given ?? env.ANVIL_PATH
  if (named !== undefined) {
    if (existsSync(named)) return named
    throw missing(`There is no file at the path given for anvil: ${named}.`)
  }
  const found = fromPackage() ?? fromPath(env.PATH ?? '')
  if (found === undefined) throw missing('The devnet needs anvil, and none was found.')
  return found
}

function missing(message: string): TxlaneError {
  return new TxlaneError(message, {
    code: 'UNSUPPORTED',
    fate: 'notExecuted',
    metaMessages: [
      'Install it: npm install --save-dev @foundry-rs/anvil',
      'or give its path: startDevnet({ anvilPath }), or the environment variable ANVIL_PATH.',
    ],
  })
}

function fromPackage(): string | undefined {
  // `import.meta.url` is absent in the CommonJS build; the working directory stands in for it.
  const bases = [import.meta.url, join(process.cwd(), 'package.json')].filter((base) => base !== undefined)
  for (const base of bases) {
    try {
      const wrapper = createRequire(base).resolve('@foundry-rs/anvil/package.json')
      // The package is a launcher; the binary sits in a package of its own for each platform. Starting the binary
      // itself saves a Node process, and killing the launcher would leave the node running.
      const arch = process.arch === 'x64' ? 'amd64' : process.arch
      const platform = `@foundry-rs/anvil-${process.platform}-${arch}/package.json`
      const binary = join(dirname(createRequire(wrapper).resolve(platform)), 'bin', BINARY)
      if (existsSync(binary)) return binary
    } catch {
      // Not installed as seen from here.
    }
  }
  return undefined
}

function fromPath(path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '' && !folder.includes('node_modules'))
    .map((folder) => join(folder, BINARY))
    .find((file) => existsSync(file))
}
