import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { TxlaneError } from '../../src/errors/base.js'

const BINARY = process.platform === 'win32' ? 'anvil.exe' : 'anvil'

/**
 * Finds anvil: the given path, the environment variable `ANVIL_PATH`, the npm package `@foundry-rs/anvil`,
 * then `PATH`. The package comes before `PATH`, because a lock file pins the version that a project was
 * tested with.
 *
 * @throws TxlaneError `UNSUPPORTED` when anvil is not found; the error says how to install it.
 */
export function findAnvil(given: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  const named = given ?? env.ANVIL_PATH
  if (named !== undefined) {
    if (existsSync(named)) return named
    throw missing(`There is no file at the given path of anvil: ${named}.`)
  }
  const found = fromPackage() ?? fromPath(env.PATH ?? '')
  if (found === undefined) throw missing('The devnet needs anvil, but anvil was not found.')
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
  // `import.meta.url` is absent in the CommonJS build; the working directory is the fallback.
  const bases = [import.meta.url, join(process.cwd(), 'package.json')].filter((base) => base !== undefined)
  for (const base of bases) {
    try {
      const wrapper = createRequire(base).resolve('@foundry-rs/anvil/package.json')
      // The package is a launcher; the binary is in a separate package for each platform. Starting the binary
      // directly saves a Node process, and killing the launcher would leave the node running.
      const arch = process.arch === 'x64' ? 'amd64' : process.arch
      const platform = `@foundry-rs/anvil-${process.platform}-${arch}/package.json`
      const binary = join(dirname(createRequire(wrapper).resolve(platform)), 'bin', BINARY)
      if (existsSync(binary)) return binary
    } catch {
      // The package is not installed relative to this base.
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
