import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, cacheFolder } from '../../scripts/bundle.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
// They stay outside the bundle.
const DRIVERS = ['libsql', 'pg', 'secp256k1', 'keccak', 'tiny-secp256k1', '@foundry-rs/anvil']

/**
 * Programs, by the path from the root, with all that they need: children that are killed are started again and again.
 * Through a loader each start would take seconds of nothing but loading, one file of the dependencies after the other.
 */
export function bundleAll(
  programs: readonly string[],
  folder: string,
  options: { readonly alias?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  return bundle(
    programs.map((program) => join(ROOT, program)),
    folder,
    {
      outbase: ROOT,
      external: DRIVERS,
      // Some of what is bundled asks for modules of Node in the old way.
      banner: {
        js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
      },
      ...options,
    },
  )
}

/** Where `bundleAll` has put a program. */
function placeOf(program: URL, folder: string): string {
  return join(folder, relative(ROOT, fileURLToPath(program)).replace(/\.ts$/, '.mjs'))
}

/** One that is bundled once for the whole run of the tests, see `childrenFolder.ts`. */
export function bundledChild(program: URL): string {
  const path = placeOf(program, process.env.TXLANE_CHILDREN ?? '')
  if (!existsSync(path))
    throw new Error(`${program.pathname} is not among the programs of childrenFolder.ts.`)
  return path
}

export type Bundle = AsyncDisposable & { readonly path: string }

/** The same where no test may be running: then it is bundled now, until it is disposed of. */
export async function bundleChild(program: URL): Promise<Bundle> {
  if (process.env.TXLANE_CHILDREN !== undefined)
    return { path: bundledChild(program), [Symbol.asyncDispose]: async () => {} }
  const folder = cacheFolder('txlane-child-')
  await bundleAll([relative(ROOT, fileURLToPath(program))], folder)
  return {
    path: placeOf(program, folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
